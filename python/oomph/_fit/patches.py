"""What the step's calls of PyTorch do while a part runs.

Set once in a process, when `oomph.fit` is first used. Outside of a step each does what it did before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from . import clipping, optimizer
from .running import Part, now

_installed = False


def install() -> None:
    """Sets all of them; does nothing where they are set."""
    global _installed
    if _installed:
        return
    if not hasattr(torch.autograd, "_engine_run_backward"):
        raise ImportError(f"oomph.fit needs PyTorch 2.4 or later; this is {torch.__version__}")
    _installed = True
    torch.autograd._engine_run_backward = _weighted(torch.autograd._engine_run_backward)
    _wrap(torch.optim.Optimizer, "zero_grad", _zeroing)
    _wrap(torch.nn.Module, "zero_grad", _zeroing)
    _wrap(torch.nn.Module, "train", _training)
    _wrap(torch.optim.lr_scheduler.LRScheduler, "step", _refused)
    _wrap(torch.optim.lr_scheduler.ReduceLROnPlateau, "step", _refused)
    for method in ("step", "update", "unscale_"):
        _wrap(torch.amp.GradScaler, method, _refused)
    register_optimizer_step_pre_hook(_before_update)
    clipping.install()


def _wrap(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    setattr(owner, name, make(getattr(owner, name)))


def _weighted(run: Any) -> Any:
    """The one call that `backward()` and `torch.autograd.backward()` end in."""

    @functools.wraps(run)
    def run_backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        part = now()
        if part is None or part.is_inside_backward or not kwargs.get("accumulate_grad"):
            return run(tensors, *args, **kwargs)
        if part.measures:
            part.losses.append(_value(tensors, args[0]))
            return ()
        if part.weigh is not None:
            weight = part.weigh(part.backwards)
            args = (tuple(_times(each, weight) for each in args[0]), *args[1:])
        part.backwards += 1
        part.is_inside_backward = True
        try:
            return run(tensors, *args, **kwargs)
        finally:
            part.is_inside_backward = False

    return run_backward


def _times(gradient: Any, weight: float) -> Any:
    return gradient if gradient is None or weight == 1.0 else gradient * weight


def _value(tensors: Any, gradients: Any) -> Any:
    terms = [(each if grad is None else each * grad).detach().sum() for each, grad in zip(tensors, gradients)]
    return sum(terms[1:], terms[0])


def _zeroing(zero_grad: Any) -> Any:
    """`zero_grad()` inside a step: it runs in the first part only, or it would drop the gradients of the parts before."""

    @functools.wraps(zero_grad)
    def zero(self: Any, *args: Any, **kwargs: Any) -> Any:
        part = now()
        if part is None:
            return zero_grad(self, *args, **kwargs)
        if part.measures or not part.is_first:
            return None
        if part.drop is not None:
            is_optimizer = isinstance(self, torch.optim.Optimizer)
            groups = self.param_groups if is_optimizer else [{"params": self.parameters()}]
            part.drop([each for group in groups for each in group["params"]])
        return zero_grad(self, *args, **kwargs)

    return zero


def _training(train: Any) -> Any:
    """`model.train()` inside a step does not switch dropout on again while the step is measured."""

    @functools.wraps(train)
    def switch(self: Any, mode: bool = True) -> Any:
        part = now()
        return self if part is not None and part.measures else train(self, mode)

    return switch


def _refused(method: Any) -> Any:
    @functools.wraps(method)
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        if now() is not None:
            raise TypeError(_moved(f"{type(self).__name__}.{method.__name__}"))
        return method(self, *args, **kwargs)

    return refuse


def _moved(call: str) -> str:
    return f"{call}() inside a step of oomph.fit would run once for every part: move it after the step"


def _before_update(optimizer_: Any, args: Any, kwargs: Any) -> None:
    part: Part | None = now()
    if part is not None:
        raise TypeError(_moved(f"{type(optimizer_).__name__}.step"))
    optimizer.attach_if_known(optimizer_)
