"""Graphs: the operations behind a tensor, and what they keep for its backward pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .storages import has_graph

# How the tensors are called that operations of a type keep, without what unpacks them: that may be code of the program.
_SAVED: dict[type, tuple[str, ...]] = {}


def operations(tensor: Any, seen: set[Any]) -> Iterator[Any]:
    """The operations that led to a tensor, but for those that were seen, and what lies behind them."""
    waiting = [tensor.grad_fn] if has_graph(tensor) and tensor.grad_fn not in seen else []
    seen.update(waiting)
    while waiting:
        operation = waiting.pop()
        yield operation
        for earlier, _ in operation.next_functions:
            if earlier is not None and earlier not in seen:
                seen.add(earlier)
                waiting.append(earlier)


def saved(operation: Any) -> Iterator[Any]:
    """The tensors that an operation keeps, as it keeps them: nothing is unpacked. None after the backward pass, and
    where PyTorch shows them only unpacked, as older ones do."""
    kind = type(operation)
    if kind not in _SAVED:
        _SAVED[kind] = tuple(name for name in dir(operation) if name.startswith("_raw_saved_"))
    for name in _SAVED[kind]:
        try:
            found = getattr(operation, name)
        except RuntimeError:
            continue  # It has let go of them.
        for one in found if isinstance(found, (tuple, list)) else (found,):
            kept = getattr(one, "data", None)
            if kept is not None:
                yield kept
