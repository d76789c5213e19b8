"""Lightning's `Trainer`: its steps, in parts where they do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oomph._frameworks import framework
from oomph.fit import Fit


def callback(**options: Any) -> Any:
    """A callback for `lightning.Trainer(callbacks=[...])`, with the options of `oomph.fit`.

    Training with automatic optimization, validation, test and prediction steps fit then. Lightning's loop stays as it is:
    batches, schedule, number of steps. What a step logs is joined over its parts and logged once.
    """
    base: Any = _lightning().Callback

    class FitCallback(base):  # type: ignore[misc]
        """Makes the steps of a trainer fit."""

        def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
            if not pl_module.automatic_optimization:
                raise TypeError("oomph.fit.lightning needs automatic optimization: with manual one use oomph.fit in the step")
            _Steps(trainer, pl_module, options).attach()

    return FitCallback()


def _lightning() -> Any:
    return framework("oomph.fit.lightning", ("lightning.pytorch", "pytorch_lightning"))


class _Steps:
    """What stands in a trainer for its steps."""

    def __init__(self, trainer: Any, module: Any, options: dict[str, Any]) -> None:
        self._trainer = trainer
        self._module = module
        self._options = options
        self._fits: dict[str, Fit] = {}

    def attach(self) -> None:
        """Once for each trainer."""
        loop = self._trainer.fit_loop.epoch_loop.automatic_optimization
        if getattr(loop, "_oomph_fit", None) is self._module:
            return
        loop._oomph_fit = self._module
        loop._make_closure = self._closures(loop, loop._make_closure)
        for name in ("validation_step", "test_step", "predict_step"):
            setattr(self._trainer.strategy, name, self._evaluation(name, getattr(self._trainer.strategy, name)))

    def _closures(self, loop: Any, make: Any) -> Any:
        def make_closure(kwargs: Any, optimizer: Any, batch_idx: int) -> Any:
            closure = make(kwargs, optimizer, batch_idx)
            zero_grad, backward = closure._zero_grad_fn, closure._backward_fn
            # Lightning's closure runs a step, then backward. Here the step has done it all.
            closure._step_fn = lambda: self._train(loop, kwargs, optimizer, zero_grad, backward)
            closure._zero_grad_fn = closure._backward_fn = None
            return closure

        return make_closure

    def _train(self, loop: Any, kwargs: Any, optimizer: Any, zero_grad: Any, backward: Any) -> Any:
        kinds: list[Any] = []

        def step(batch: Any) -> Any:
            with _Logged(self._module) as logged:
                result = loop._training_step({**kwargs, "batch": batch})
                if result.closure_loss is not None and backward is not None:
                    backward(result.closure_loss)
            kinds.append(type(result))
            return result.closure_loss, result.extra, logged.values, logged.hidden()

        if zero_grad is not None:
            zero_grad()
        loss, extra, values, options = self._fit("train", optimizer=optimizer)(step, kwargs["batch"])
        self._log("training_step", values, options)
        return kinds[-1](loss, extra=extra)

    def _evaluation(self, name: str, evaluate: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            def step(*args: Any) -> Any:
                with _Logged(self._module) as logged:
                    result = evaluate(*args)
                return result, logged.values, logged.hidden()

            result, values, options = self._fit(name)(step, *args)
            self._log(name, values, options)
            return result

        return run

    def _fit(self, name: str, **more: Any) -> Fit:
        if name not in self._fits:
            model = self._trainer.strategy.model
            self._fits[name] = Fit(split=[0], **{**self._options, "model": model, **more})
        return self._fits[name]

    def _log(self, hook: str, values: dict[str, Any], options: _Options) -> None:
        """Logs as if from inside the hook."""
        before, self._module._current_fx_name = self._module._current_fx_name, hook
        try:
            for name, value in values.items():
                args, kwargs = options.of[name]
                self._module.log(name, value, *args, **kwargs)
        finally:
            self._module._current_fx_name = before


class _Options:
    """How values are logged. It is the same for every part."""

    def __init__(self) -> None:
        self.of: dict[str, tuple[Any, dict[str, Any]]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Options) and list(self.of) == list(other.of)

    def __hash__(self) -> int:
        return 0


class _Logged:
    """Inside the block what a module logs is kept instead: parts are logged together, failed attempts never."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._options = _Options()
        self.values: dict[str, Any] = {}

    def hidden(self) -> _Options:
        """How they are to be logged."""
        return self._options

    def __enter__(self) -> _Logged:
        self._module.__dict__["log"] = self._log
        self._module.__dict__["log_dict"] = self._log_dict
        return self

    def __exit__(self, *error: object) -> None:
        del self._module.__dict__["log"], self._module.__dict__["log_dict"]

    def _log(self, name: str, value: Any, *args: Any, **kwargs: Any) -> None:
        # A graph would be kept until the step is over.
        self.values[name] = value.detach() if hasattr(value, "detach") and hasattr(value, "ndim") else value
        self._options.of[name] = (args, kwargs)

    def _log_dict(self, values: Any, *args: Any, **kwargs: Any) -> None:
        for name, value in values.items():
            self._log(name, value, *args, **kwargs)
