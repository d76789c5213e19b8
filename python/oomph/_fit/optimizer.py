"""`optimizer.step()`, which needs memory after the step has given back its own, and must not be left half done.

Hooks of the optimizer do it, so that nobody who wraps `step` (a schedule, a scaler, accelerate) notices: the last hook
before the update makes it, chunk by chunk, and leaves nothing to do for the update itself; the first hook after it puts
the parameters back in their groups.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import torch

from .gradients import Gradients
from .room import Room
from .update import update

# The gradients of every fit that is alive: whose parameters they are belongs to its optimizers.
_known: weakref.WeakSet[Gradients] = weakref.WeakSet()
_attached: weakref.WeakKeyDictionary[Any, _Attached] = weakref.WeakKeyDictionary()


def know(gradients: Gradients) -> None:
    """Optimizers of these parameters are looked after from their next step on."""
    _known.add(gradients)


def attach_if_known(optimizer: Any) -> None:
    """Called before every update of any optimizer."""
    attached = _attached.get(optimizer)
    if attached is not None:
        attached.go_last()
    elif any(gradients.has(_parameters(optimizer)) for gradients in _known):
        attach(optimizer)


def attach(optimizer: Any) -> None:
    """This optimizer's updates survive running out of memory."""
    # accelerate has the optimizer in one of its own.
    optimizer = getattr(optimizer, "optimizer", optimizer)
    if isinstance(optimizer, torch.optim.Optimizer) and optimizer not in _attached and _is_simple(optimizer):
        _attached[optimizer] = _Attached(optimizer)


def _is_simple(optimizer: Any) -> bool:
    """LBFGS asks for the loss many times in one update: it is left as it is."""
    return not isinstance(optimizer, torch.optim.LBFGS)


def _parameters(optimizer: Any) -> Iterable[Any]:
    return (parameter for group in optimizer.param_groups for parameter in group["params"])


class _Attached:
    """The two hooks of an optimizer."""

    def __init__(self, optimizer: Any) -> None:
        self._before: Any = optimizer.register_step_pre_hook(self._update)
        self._after: Any = optimizer.register_step_post_hook(self._put_back)
        self._hooks: Any = optimizer._optimizer_step_pre_hooks
        optimizer._optimizer_step_post_hooks.move_to_end(self._after.id, last=False)
        self._optimizer = weakref.ref(optimizer)
        self._room = Room()
        self._groups: list[list[Any]] | None = None

    def go_last(self) -> None:
        """Hooks that were added since run before this one. Where the last update ended in an error, its parameters are put
        back first."""
        if self._groups is not None:
            self._put_back(self._optimizer(), None, None)
        if self._before.id in self._hooks and next(reversed(self._hooks)) != self._before.id:
            self._hooks.move_to_end(self._before.id)

    def _update(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        if closure is not None:
            # Every optimizer but LBFGS asks once, before it changes anything.
            with torch.enable_grad():
                loss = closure()
        if update(optimizer, self._room):
            self._groups = [group["params"] for group in optimizer.param_groups]
            for group in optimizer.param_groups:
                group["params"] = []
        return None if closure is None else (args[:1], {"closure": lambda: loss})

    def _put_back(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        groups, self._groups = self._groups, None
        if groups is not None:
            for group, parameters in zip(optimizer.param_groups, groups):
                group["params"] = parameters
