"""What a step gives: taken apart, and joined again from its parts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import torch

from .failures import Refusal


def is_scalar(value: Any) -> bool:
    """A number, or a tensor with one."""
    if isinstance(value, torch.Tensor):
        return bool(value.ndim == 0)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_total(value: Any) -> bool:
    """A whole number is a count of something, and the counts of parts add up."""
    if isinstance(value, torch.Tensor):
        return not value.is_floating_point() and not value.is_complex()
    return isinstance(value, int)


def scalars(value: Any) -> list[Any]:
    """The numbers in what a step gives, in order."""
    found: list[Any] = []

    def look(leaf: Any) -> Any:
        if is_scalar(leaf):
            found.append(leaf)
        return leaf

    rebuilt(look, value)
    return found


def loss_of(value: Any) -> tuple[int, Any] | None:
    """The loss that a step gives, for which backward was not called: the first number with a graph, and the how many-th
    of its numbers it is."""
    if type(value) is torch.Tensor:
        # Most steps give their loss and nothing else.
        return (0, value) if value.requires_grad and value.ndim == 0 else None
    for index, each in enumerate(scalars(value)):
        if isinstance(each, torch.Tensor) and each.requires_grad:
            return index, each
    return None


def detached(value: Any, device: Any = None) -> Any:
    """The same without graphs, on another device if one is named."""

    def detach(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        leaf = leaf.detach()
        return leaf if device is None else leaf.to(device)

    return rebuilt(detach, value)


def join(results: list[Any], sizes: list[int], weigh: Callable[[int], list[float]], size: int) -> Any:
    """One result of the results of the parts: numbers are summed with the weights that `weigh` gives for the how many-th
    number, tensors and lists with one entry a sample are put one behind the other. Results that are the same in every
    part, and are no tensors, stay. `size` is the whole batch's."""
    order = iter(range(1 << 30))

    def joined(*leaves: Any) -> Any:
        first = leaves[0]
        if is_scalar(first):
            index = next(order)
            return _sum(leaves, [1.0] * len(leaves) if is_total(first) else weigh(index))
        if isinstance(first, torch.Tensor):
            if sum(sizes) != size:
                raise Refusal("a part has nothing to average over, so the results have gaps; pass gather=")
            if any(leaf.shape[0] != length for leaf, length in zip(leaves, sizes)):
                raise Refusal(f"a result of shape {tuple(first.shape)} has not one entry a sample; pass gather=")
            if len({leaf.shape[1:] for leaf in leaves}) > 1:
                raise Refusal("results of the parts have different shapes; pass gather=, a function of their list")
            return torch.cat(leaves)
        if isinstance(first, list):
            return [entry for leaf in leaves for entry in leaf]
        if any(leaf is not first and (type(leaf) is not type(first) or leaf != first) for leaf in leaves):
            raise Refusal(f"results of type {type(first).__name__} cannot be joined; pass gather=")
        return first

    return rebuilt(joined, *results)


def _sum(values: tuple[Any, ...], weights: list[float]) -> Any:
    terms = [value if weight == 1.0 else value * weight for value, weight in zip(values, weights) if weight]
    return sum(terms[1:], terms[0])


def rebuilt(make: Callable[..., Any], *values: Any) -> Any:
    """A structure like each of the values, with what `make` gives for their leaves."""
    first = values[0]
    if isinstance(first, torch.Tensor):
        return make(*values)
    if isinstance(first, Mapping):
        inner = {name: rebuilt(make, *(value[name] for value in values)) for name in first}
        if type(first) is dict:
            return inner
        try:
            # transformers' outputs take their fields as keywords.
            return type(first)(**inner)
        except TypeError:
            return inner
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(rebuilt(make, *inner) for inner in zip(*values)))
    if isinstance(first, tuple):
        return tuple(rebuilt(make, *inner) for inner in zip(*values))
    if isinstance(first, list) and any(isinstance(each, torch.Tensor) for each in first):
        return [rebuilt(make, *inner) for inner in zip(*values)]
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        names = [field.name for field in dataclasses.fields(first) if field.init]
        changed = {name: rebuilt(make, *(getattr(value, name) for value in values)) for name in names}
        return dataclasses.replace(first, **changed)
    return make(*values)
