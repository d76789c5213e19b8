"""What changed copies of a script call, under `oomph lint --prove`: each does in one word what a fix would do there.

They stand among the built-in names of the copy's process, and nowhere else.
"""

from __future__ import annotations

import copy
import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

# Containers within containers: deeper than people nest them.
DEEPEST = 8
# The hook that each line has set last, by the hooks of each module.
_set: dict[tuple[int, int], Any] = {}


def _each(value: Any, change: Callable[[Any], Any], depth: int = 0) -> Any:
    """The value with every tensor, model and optimizer in it changed. Containers are new ones; the old stay as they are."""
    import torch

    if isinstance(value, (torch.Tensor, torch.nn.Module, torch.optim.Optimizer)):
        return change(value)
    if depth == DEEPEST:
        return value
    if isinstance(value, dict):
        parts = {key: _each(part, change, depth + 1) for key, part in value.items()}
        if type(value) is dict:
            return parts
        fresh = copy.copy(value)
        for key, part in parts.items():
            fresh[key] = part
        return fresh
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_each(part, change, depth + 1) for part in value))
    if isinstance(value, (list, tuple, set)):
        return type(value)(_each(part, change, depth + 1) for part in value)
    if dataclasses.is_dataclass(value) or type(value).__module__ == "__main__":
        fresh = copy.copy(value)
        for name, part in vars(value).items():
            object.__setattr__(fresh, name, _each(part, change, depth + 1))
        return fresh
    return value


def detached(value: Any) -> Any:
    """The value, with every tensor in it without its graph."""

    def change(part: Any) -> Any:
        import torch

        return part.detach() if isinstance(part, torch.Tensor) else part

    return _each(value, change)


def on_host(value: Any) -> Any:
    """The value, with every tensor in it on the host, without its graph; of models a copy there, of optimizers what they
    save."""

    def change(part: Any) -> Any:
        import torch

        if isinstance(part, torch.Tensor):
            return part.detach().cpu()
        if isinstance(part, torch.nn.Module):
            return _model_on_host(part)
        return _each(dict(part.state_dict()), change)

    return _each(value, change)


def _model_on_host(model: Any) -> Any:
    import torch

    moved: dict[int, Any] = {id(each): each.detach().cpu() for each in model.buffers()}
    for each in model.parameters():
        moved[id(each)] = torch.nn.Parameter(each.detach().cpu(), requires_grad=each.requires_grad)
    # What is in the table is not copied, so no second copy is ever on the GPU.
    return copy.deepcopy(model, moved)


def without_graph(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called with gradients off."""

    def call(*args: Any, **kwargs: Any) -> Any:
        import torch

        with torch.no_grad():
            return function(*args, **kwargs)

    return call


def gone_through(loss: Any) -> Any:
    """The loss after its backward pass, as a number that has a gradient: a second pass through it does nothing more."""
    loss.backward()
    return loss.detach().requires_grad_()


def newest(handle: Any) -> Any:
    """The handle of a hook, with the hook removed that the same line set on the same module before."""
    key = id(handle.hooks_dict_ref()), sys._getframe(1).f_lineno
    before = _set.get(key)
    if before is not None:
        before.remove()
    _set[key] = handle
    return handle


def forever(batches: Iterable[Any]) -> Iterator[Any]:
    """The batches, and then again, without keeping them."""
    while True:
        yield from batches


ALL: tuple[Callable[..., Any], ...] = (detached, on_host, without_graph, gone_through, newest, forever)
