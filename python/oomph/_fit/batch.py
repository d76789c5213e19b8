"""A batch, cut into parts."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from .failures import Refusal

# What a leaf of the arguments is to a part: cut along its first dimension, or given whole to every part.
Leaf = Any
_PLAIN = (int, float, complex, str, bytes, bool, type(None), torch.dtype, torch.device)


class Batch:
    """The arguments of a step.

    Tensors, NumPy arrays and lists of samples are cut along their first dimension, at any depth of tuples, lists,
    mappings and dataclasses. Numbers, texts, modules and tensors without dimensions go whole to every part. All that is
    cut must have the same length; what is longer or shorter is named in the refusal.

    `split` names the arguments that are cut, by position or by keyword; the others go whole to every part.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], split: Sequence[int | str] | None = None) -> None:
        self.args = args
        self.kwargs = kwargs
        self._named = split
        self._samples = _has_samples((args, kwargs))
        self.leaves: list[Leaf] = []
        self._unknown: str | None = None
        for place, value in [*enumerate(args), *kwargs.items()]:
            if split is None or place in split:
                self._collect(value)
        lengths = {_length(leaf) for leaf in self.leaves}
        self.size = lengths.pop() if len(lengths) == 1 else 0
        self._lengths = sorted(lengths | ({self.size} if self.size else set()))

    @property
    def shape(self) -> tuple[tuple[Any, ...], ...]:
        """What all batches have in common that need the same memory a sample: type and shape of each leaf, without the
        first dimension."""
        return tuple(
            (leaf.dtype, tuple(leaf.shape[1:])) if hasattr(leaf, "shape") else (type(leaf).__name__, ())
            for leaf in self.leaves
        )

    def check(self) -> None:
        """Refuses what cannot be cut, with the reason."""
        if self._unknown is not None:
            raise Refusal(f"a {self._unknown} cannot be cut; name what can: oomph.fit(split=[...])")
        if not self.leaves:
            raise Refusal("no batch among the arguments; pass it to the step as tensors")
        if len(self._lengths) > 1:
            lengths = ", ".join(map(str, self._lengths))
            raise Refusal(f"arguments have different lengths ({lengths}); name those to cut: oomph.fit(split=[...])")
        if self.size < 2:
            raise Refusal("one sample alone does not fit; it cannot be cut further")

    def part(self, start: int, stop: int) -> Batch:
        """The samples from `start` to before `stop`."""

        def cut(leaf: Leaf) -> Leaf:
            return leaf[start:stop]

        args = tuple(self._cut(value, cut) if self._is_cut(place) else value for place, value in enumerate(self.args))
        kwargs = {name: self._cut(value, cut) if self._is_cut(name) else value for name, value in self.kwargs.items()}
        return Batch(args, kwargs, self._named)

    def _is_cut(self, place: int | str) -> bool:
        return self._named is None or place in self._named

    def _collect(self, value: Any) -> None:
        self._cut(value, self.leaves.append)

    def _cut(self, value: Any, cut: Callable[[Leaf], Any]) -> Any:
        """The value with every leaf replaced by what `cut` makes of it."""
        if isinstance(value, torch.Tensor) or _is_array(value):
            return cut(value) if value.ndim else value
        if isinstance(value, _PLAIN) or isinstance(value, (torch.nn.Module, torch.optim.Optimizer)) or callable(value):
            return value
        if isinstance(value, list) and (self._samples or _is_flat(value)):
            return cut(value) if value else value
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self._cut(inner, cut) for inner in value))
        if isinstance(value, (list, tuple)):
            return type(value)(self._cut(inner, cut) for inner in value)
        if isinstance(value, Mapping):
            return _like(value, {name: self._cut(inner, cut) for name, inner in value.items()})
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            inner = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
            return dataclasses.replace(value, **{name: self._cut(each, cut) for name, each in inner.items()})
        if any(isinstance(inner, torch.Tensor) for inner in getattr(value, "__dict__", {}).values()):
            self._unknown = type(value).__name__
        return value


def cuts(size: int, parts: int) -> list[tuple[int, int]]:
    """Where a batch is cut into this many parts, whose sizes differ by at most one."""
    small, larger = divmod(size, parts)
    bounds = [0]
    for part in range(parts):
        bounds.append(bounds[-1] + small + (part < larger))
    return list(zip(bounds, bounds[1:]))


def _length(leaf: Leaf) -> int:
    return int(leaf.shape[0]) if hasattr(leaf, "shape") else len(leaf)


def _is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _is_flat(value: list[Any]) -> bool:
    """A list of numbers or texts, one a sample."""
    return all(isinstance(each, _PLAIN) for each in value)


def _has_samples(value: Any) -> bool:
    """Whether there is a list of samples, each a mapping with its own tensors: then every list has one entry a sample."""
    if isinstance(value, list):
        return any(isinstance(each, Mapping) for each in value) or any(map(_has_samples, value))
    if isinstance(value, tuple):
        return any(map(_has_samples, value))
    return isinstance(value, Mapping) and any(map(_has_samples, value.values()))


def _like(value: Mapping[Any, Any], inner: dict[Any, Any]) -> Any:
    """A mapping of the same kind."""
    if type(value) is dict:
        return inner
    try:
        return type(value)(inner)  # type: ignore[call-arg]
    except TypeError:
        return inner
