"""`oomph.fit(step)`: the same training, in the memory there is."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._fit.runner import Runner

_COUNTS = ("samples", "tokens", "sum")
_ACCEPTED = ("batch statistics",)


class Fit:
    """Runs steps, and repeats in parts those that do not fit. See `oomph.fit`."""

    def __init__(
        self,
        step: Callable[..., Any] | None = None,
        *,
        model: Any = None,
        optimizer: Any = None,
        count: str | Callable[..., Any] | None = None,
        split: Sequence[int | str] | None = None,
        keep: Sequence[Any] = (),
        accept: str | Sequence[str] = (),
        gather: str | Callable[[list[Any]], Any] | None = None,
        parts: int | None = None,
    ) -> None:
        self._options: dict[str, Any] = {
            "model": model,
            "optimizer": optimizer,
            "count": _checked_count(count),
            "split": split,
            "keep": keep,
            "accept": _checked_accept(accept),
            "gather": _checked_gather(gather),
        }
        self._runner: Runner | None = None
        self._is_entered = False
        self._methods: weakref.WeakKeyDictionary[Any, Fit] = weakref.WeakKeyDictionary()
        self._step = step
        self.parts = parts
        if step is not None:
            if not callable(step):
                raise TypeError(f"oomph.fit takes the function that computes the loss of a batch, not {step!r}")
            functools.update_wrapper(self, step)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._step is not None:
            return self._run(self._step, args, kwargs)
        if not args or not callable(args[0]):
            raise TypeError("call it with the step and its batch: fit(step, batch)")
        step, *rest = args
        if not rest and not kwargs and not self._is_entered:
            # It is used as a decorator.
            return Fit(step, parts=self.parts, **self._options)
        return self._run(step, tuple(rest), kwargs)

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        """A step that is a method: each object has a fit of its own."""
        if owner is None or self._step is None:
            return self
        if owner not in self._methods:
            # Neither keeps the other alive.
            step, object_ = self._step, weakref.ref(owner)

            @functools.wraps(step)
            def method(*args: Any, **kwargs: Any) -> Any:
                return step(object_(), *args, **kwargs)

            self._methods[owner] = Fit(method, parts=self.parts, **self._options)
        return self._methods[owner]

    def __enter__(self) -> Fit:
        self._is_entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_entered = False

    @property
    def used(self) -> int:
        """Into how many parts the last batch was cut; 1 is the whole batch."""
        return 1 if self._runner is None else self._runner.used

    @property
    def attempts(self) -> int:
        """How often the last step was tried until it fitted; 1 is without a failure."""
        return 0 if self._runner is None else self._runner.attempts

    @property
    def parts(self) -> int | None:
        """Into how many parts every batch is cut from now on, whether it fits or not; None lets oomph find out. Steps with
        more parts follow where even those do not fit."""
        return self._parts

    @parts.setter
    def parts(self, parts: int | None) -> None:
        if parts is not None and (not isinstance(parts, int) or isinstance(parts, bool) or parts < 1):
            raise ValueError(f"parts= is a whole number from 1 on, or None, not {parts!r}")
        self._parts = parts

    def _run(self, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._runner is None:
            self._runner = self._made()
        self._runner.forced = self._parts
        return self._runner(step, args, kwargs)

    def _made(self) -> Runner:
        from ._fit.runner import Runner

        options = self._options
        return Runner(
            _several(options["model"]),
            _several(options["optimizer"]),
            options["count"],
            options["split"],
            options["keep"],
            options["accept"],
            options["gather"],
        )

    def __repr__(self) -> str:
        what = getattr(self._step, "__name__", None) or "steps"
        return f"<oomph.fit of {what}: {self.used} part{'' if self.used == 1 else 's'} last>"


def _several(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _checked_count(count: Any) -> Any:
    if count is None or callable(count) or count in _COUNTS:
        return count
    raise ValueError(f'count= is "samples", "tokens", "sum" or a function of the batch, not {count!r}')


def _checked_accept(accept: Any) -> Sequence[str]:
    accepted = [accept] if isinstance(accept, str) else list(accept)
    for each in accepted:
        if each not in _ACCEPTED:
            raise ValueError(f'accept= knows "batch statistics", not {each!r}')
    return accepted


def _checked_gather(gather: Any) -> Any:
    if gather is None or callable(gather) or gather == "cpu":
        return gather
    raise ValueError(f'gather= is "cpu" or a function of the list of results, not {gather!r}')


class _Face:
    """`oomph.fit`."""

    def __call__(self, step: Callable[..., Any] | None = None, **options: Any) -> Fit:
        """Runs a training step so that it fits: if memory runs out, everything is as before the step, and it is repeated
        in parts whose gradients add up to the whole batch's.

            @oomph.fit                                  # or oomph.fit(model=model, optimizer=optimizer, ...)
            def step(x, y):
                return loss(model(x), y)                # or calls backward() itself

            for x, y in batches:
                optimizer.zero_grad()
                value = step(x, y)                      # the loss of the whole batch; gradients are there
                optimizer.step()

            with oomph.fit(model=model) as fit:         # the same without a decorator
                value = fit(step, x, y)

        The step gets its batch as arguments and may run more than once. What it averages over is measured when a batch is
        first cut, or told: `count=` "samples", "tokens", "sum", or a function of the batch. Without gradients
        (`torch.no_grad()`) the results of the parts are put together again.

        - `model`, `optimizer`: one or a list; found at the first step where they are not named
        - `split`: the arguments that are cut, by position or name; all tensors where it is not named
        - `keep`: more objects to put back before a repeat, with `state_dict` and `load_state_dict`
        - `accept="batch statistics"`: BatchNorm may see parts instead of whole batches
        - `gather`: "cpu" keeps results on the host; a function puts a list of them together
        - `parts`: cut every batch into so many parts
        """
        return Fit(step, **options)

    def trainer(self, trainer: Any, **options: Any) -> Any:
        """Makes the steps of a `transformers.Trainer` fit, in training and evaluation; gives the trainer.

            oomph.fit.trainer(trainer).train()
        """
        from ._fit.hugging_face import attach

        return attach(trainer, **options)

    def lightning(self, **options: Any) -> Any:
        """A callback that makes the steps of a Lightning `Trainer` fit, in training and evaluation.

            lightning.Trainer(callbacks=[oomph.fit.lightning()])
        """
        from ._fit.lightning import callback

        return callback(**options)

    def keras(self, model: Any, **options: Any) -> Any:
        """Makes the steps of a Keras model fit, in `fit`, `evaluate` and `predict`; gives the model. Keras on PyTorch.

            oomph.fit.keras(model).fit(x, y, batch_size=256)
        """
        from ._fit.keras import attach

        return attach(model, **options)


fit = _Face()
