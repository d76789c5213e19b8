"""The files that the program believes it has written, and what it would find in them."""

from __future__ import annotations

import copy
import math
import os
import weakref
from collections.abc import Callable
from typing import Any

from .hollow_tensors import LARGE, HollowTensors

# Containers within containers: deeper than anybody saves them.
DEEPEST = 32


class Unknown(Exception):
    """What would be in the file cannot be told by shapes alone."""


class _Described:
    """A tensor without its contents."""

    def __init__(self, tensor: Any) -> None:
        self.shape, self.stride, self.dtype = tensor.shape, tensor.stride(), tensor.dtype
        self.device = tensor.device


class _Whole:
    """A model that was saved as it is. Nothing of it is kept alive for that."""

    def __init__(self, model: Any) -> None:
        self.model: Callable[[], Any] = weakref.ref(model)


class KeptBack:
    """By path, what was not written: its structure, with small values of the host as they are and all else by shape."""

    def __init__(self) -> None:
        self._files: dict[str, Any] = {}
        self._torch: Any = None
        self._hollow: HollowTensors | None = None

    def at_torch(self, torch: Any, hollow: HollowTensors) -> None:
        self._torch, self._hollow = torch, hollow

    def put(self, path: str, value: Any = None) -> None:
        """The program has saved a value here; None: nobody can say what would be read from it."""
        try:
            self._files[path] = None if value is None else self._described(value, 0)
        except Unknown:
            self._files[path] = None

    def holds(self, path: str) -> bool:
        """Whether the file, or a folder that it is in, is among them."""
        while path not in self._files:
            above = os.path.dirname(path)
            if above == path:
                return False
            path = above
        return True

    def move(self, source: str, target: str, is_copy: bool) -> None:
        """The program has renamed or copied one."""
        self._files[target] = self._files.get(source)
        if not is_copy:
            self._files.pop(source, None)

    def forget(self, path: str) -> None:
        """The program has removed it."""
        self._files.pop(path, None)

    def has_contents(self, path: str) -> bool:
        """Whether `contents` can tell what would be in it."""
        return self._files.get(path) is not None

    def contents(self, path: str, place: Any) -> Any:
        """What would be read from it, with tensors where `map_location` wants them."""
        return self._made(self._files[path], place)

    def is_true(self, value: Any) -> bool:
        """Whether every value in it is known: nothing of it was computed on the card, or left unfilled."""
        try:
            return self._is_true(value, 0)
        except Unknown:
            return False

    def _is_true(self, value: Any, depth: int) -> bool:
        if isinstance(value, self._torch.Tensor):
            return value.device.type == "cpu" and not (self._hollow is not None and self._hollow.knows(value))
        if isinstance(value, self._torch.nn.Module) or depth > DEEPEST:
            raise Unknown
        if isinstance(value, dict):
            return all(self._is_true(part, depth + 1) for part in value.values())
        if isinstance(value, (list, tuple, set)):
            return all(self._is_true(part, depth + 1) for part in value)
        return True

    def _described(self, value: Any, depth: int) -> Any:
        torch = self._torch
        if isinstance(value, torch.Tensor):
            if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.layout != torch.strided:
                raise Unknown
            is_small = value.numel() * value.element_size() < LARGE
            if value.device.type == "cpu" and is_small:
                return value.detach().clone()
            return _Described(value)
        if depth > DEEPEST:
            raise Unknown
        if isinstance(value, torch.nn.Module):
            return _Whole(value)
        return self._each(value, lambda part: self._described(part, depth + 1))

    def _each(self, value: Any, change: Any) -> Any:
        """The same container with its parts changed; what is none of these stays as it is."""
        if isinstance(value, dict):
            fresh = copy.copy(value)
            for key, part in value.items():
                fresh[key] = change(part)
            return fresh
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(change, value))
        if type(value) in (list, tuple):
            return type(value)(map(change, value))
        return value

    def _made(self, value: Any, place: Any) -> Any:
        torch = self._torch
        if isinstance(value, _Whole):
            return self._copied(value, place)
        if not isinstance(value, (_Described, torch.Tensor)):
            return self._each(value, lambda part: self._made(part, place))
        device = self._device(value.device, place)
        if isinstance(value, torch.Tensor):
            return value.clone().to(device)
        fresh = torch.empty_strided(value.shape, value.stride, dtype=value.dtype, device=device)
        if self._hollow is not None and self._hollow.is_large(fresh):
            self._hollow.note(fresh)
        return fresh

    def _copied(self, whole: _Whole, place: Any) -> Any:
        model = whole.model()
        if model is None:
            raise FileNotFoundError("a model that was saved whole and is not there any more cannot be loaded in a plan")
        fresh: dict[int, Any] = {}
        for tensor in (*model.parameters(), *model.buffers()):
            made = self._made(_Described(tensor), place)
            is_weight = isinstance(tensor, self._torch.nn.Parameter)
            fresh[id(tensor)] = self._torch.nn.Parameter(made, tensor.requires_grad) if is_weight else made
        return copy.deepcopy(model, fresh)

    def size(self, path: str) -> int:
        """The bytes that such a file would have, about."""
        return self._size(self._files[path])

    def _size(self, value: Any) -> int:
        if isinstance(value, (_Described, self._torch.Tensor)):
            return int(math.prod(value.shape)) * int(value.dtype.itemsize)
        if isinstance(value, _Whole):
            model = value.model()
            return 0 if model is None else sum(map(self._size, (*model.parameters(), *model.buffers())))
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        return sum(map(self._size, parts))

    def _device(self, had: Any, place: Any) -> Any:
        if place is None:
            return had
        if isinstance(place, dict):
            return self._torch.device(place.get(str(had), had))
        # A function chooses by what is stored; most of them take everything to the host.
        return self._torch.device("cpu" if callable(place) else place)
