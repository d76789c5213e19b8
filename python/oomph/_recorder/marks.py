"""What the program was doing, and when: steps, backward passes, optimizers, evaluation."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from .clock import now
from .pulse import Pulse

# Marks of about ten thousand steps: the ring of allocator events holds far fewer.
KEPT = 50_000


class Marks:
    """A bounded list of marks, filled by hooks on autograd, optimizers and modules."""

    def __init__(
        self,
        at_step: Callable[[int], None],
        before_update: Callable[[Any], None],
        at_evaluation: Callable[[], None],
    ) -> None:
        self.list: deque[tuple[int, str, int]] = deque(maxlen=KEPT)
        self.step = 0
        self._at_step = at_step
        self._before_update = before_update
        self._at_evaluation = at_evaluation
        # Steps are counted by the first optimizer that updates; others (a discriminator's, say) belong to its steps.
        # One that updates twice while the first does not takes its place: that one is not used any more.
        self._counts: Callable[[], Any] | None = None
        self._updated: set[int] = set()
        # The optimizer that runs a closure, whose gradients are not there yet.
        self._waiting: Callable[[], Any] | None = None
        self._is_evaluating = False
        self._largest = 0
        # Where marks are noted for whoever watches.
        self.pulse: Pulse | None = None

    def begin(self) -> None:
        """The first step begins: CUDA has just come up."""
        self.put("step")

    def put(self, kind: str) -> None:
        time = now()
        self.list.append((time, kind, self.step))
        if self.pulse is not None:
            self.pulse.note(time, kind, self.step)

    def watch(self, torch: Any) -> None:
        self._watch_autograd(torch)
        self._watch_optimizers()
        self._watch_modules(torch)

    def _watch_autograd(self, torch: Any) -> None:
        import functools

        for name in ("backward", "grad"):
            original = getattr(torch.autograd, name)

            # This function is seen in stacks; whoever reads them passes over the lines of this package. There is no hook
            # for the end of a backward pass, so it cannot do without; IPython and pytest hide it.
            @functools.wraps(original)
            def marked(*args: Any, __original: Any = original, **kwargs: Any) -> Any:
                __tracebackhide__ = True
                if self._is_evaluating:
                    # Evaluation has no backward pass: eval() has frozen only a part of the model.
                    self._is_evaluating = False
                    self.put("train")
                self.put("backward")
                try:
                    return __original(*args, **kwargs)
                finally:
                    self.put("backward_end")
                    if self._waiting is not None:
                        self._begin_update(self._waiting())

            setattr(torch.autograd, name, marked)

    def _watch_optimizers(self) -> None:
        import weakref
        from importlib import import_module

        # The module: torch.optim hides it.
        optimizer = import_module("torch.optim.optimizer")

        def before(which: Any, args: Any, kwargs: Any) -> None:
            if self._counts is None or self._counts() is None or id(which) in self._updated:
                self._counts = weakref.ref(which)
            closure = args[1] if len(args) > 1 else kwargs.get("closure")
            # A closure (Lightning's steps, LBFGS) has the forward and the backward pass in it: the update comes after.
            self._waiting = None if closure is None else weakref.ref(which)
            if closure is None:
                self._begin_update(which)

        def after(which: Any, args: Any, kwargs: Any) -> None:
            self._waiting = None
            self.put("optimizer_end")
            self._updated.add(id(which))
            if self._counts is not None and self._counts() is which:
                self._updated.clear()
                self.step += 1
                self.put("step")
                self._at_step(self.step)

        optimizer.register_optimizer_step_pre_hook(before)
        optimizer.register_optimizer_step_post_hook(after)

    def _begin_update(self, optimizer: Any) -> None:
        self._before_update(optimizer)
        self.put("optimizer")

    def _watch_modules(self, torch: Any) -> None:
        import functools

        original = torch.nn.Module.train

        @functools.wraps(original)
        def train(module: Any, mode: bool = True) -> Any:
            __tracebackhide__ = True
            if self._is_evaluating == bool(mode):
                size = sum(1 for _ in module.modules())
                if size >= self._largest:
                    # Parts of a model that are frozen with eval() do not make an evaluation; the whole of it does.
                    self._largest = size
                    self._is_evaluating = not mode
                    self.put("train" if mode else "eval")
                    if not mode:
                        self._at_evaluation()
            return original(module, mode)

        torch.nn.Module.train = train
