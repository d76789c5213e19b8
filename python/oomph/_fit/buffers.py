"""The buffers of modules: running means, counters, caches."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import torch

from .failures import steadily, write

# A module's own dictionary of buffers, and a name in it; and what both are known by.
_Slot = tuple[dict[str, Any], str]
_Key = tuple[int, str]


class Buffers:
    """Copies of the buffers that steps change.

    Before its first step a buffer is copied. From then on it is copied if a step has changed it, so a step that changes none
    costs no copies. Whether one has is seen by its value after the first step, and by the version that PyTorch counts
    after every step. PyTorch's norms change theirs without counting: they are copied whenever they are in training mode.
    Modules that `passed_over` names are left alone.
    """

    def __init__(self, passed_over: Callable[[Any], bool]) -> None:
        self._passed_over = passed_over
        self._modules: list[Any] = []
        self._changing: set[_Key] = set()
        self._settled: set[_Key] = set()
        # The buffers to copy and those to watch, sorted once for all steps in which the modules look the same.
        self._copied: list[_Slot] = []
        self._watched: list[_Slot] = []
        self._sorted_for: list[Any] | None = None
        self._copies = _Copies()
        # What buffers were when the step began: with a copy, or with the version of the tensor.
        self._kept: list[tuple[_Slot, Any, Any]] = []
        self._seen: list[tuple[_Slot, Any, int]] = []
        self._is_inside = False
        self.surprise: str | None = None

    def add(self, modules: Iterable[Any]) -> None:
        """Buffers of more modules; inside a step as they are now. Each module once."""
        new = [module for module in modules if module._buffers]
        self._modules += new
        if new:
            self._sorted_for = None
        if self._is_inside:
            copied, watched = self._sorted(new)
            self._note(copied, watched)

    def begin(self) -> None:
        """A step begins."""
        self._is_inside = True
        if not self._modules:
            return
        look = [
            (module.training, [(name, each is None) for name, each in module._buffers.items()]) for module in self._modules
        ]
        if look != self._sorted_for:
            self._copied, self._watched = self._sorted(self._modules)
            self._sorted_for = look
        self._note(self._copied, self._watched)

    def end(self) -> None:
        """The step is over: which buffers it changed is known for the next one."""
        self._is_inside = False
        if not self._kept and not self._seen:
            return
        changed = [slot for slot, before, version in self._seen if _has_changed(slot, before, version)]
        # Comparing waits for the GPU: once is enough.
        fresh = [kept for kept in self._kept if _key(kept[0]) not in self._settled]
        changed += [slot for slot, before, copy in fresh if slot[0].get(slot[1]) is not before or _differs(before, copy)]
        if fresh or changed:
            self._settled.update(_key(slot) for slot, _, _ in fresh)
            self._changing.update(map(_key, changed))
            self._sorted_for = None
        self._kept, self._seen = [], []

    def restore(self) -> bool:
        """Everything as it was when the step began. False where a buffer changed of which there is no copy: `surprise` is
        its name then."""
        for (home, name), before, version in self._seen:
            if _version(before) != version:
                self.surprise = name
                return False
            home[name] = before
        for (home, name), before, copy in self._kept:
            home[name] = before
            write(before, copy)
        return True

    def _sorted(self, modules: list[Any]) -> tuple[list[_Slot], list[_Slot]]:
        """The buffers of these modules that are to be copied, and the others."""
        copied: list[_Slot] = []
        watched: list[_Slot] = []
        for module in modules:
            if self._passed_over(module):
                continue
            home = module._buffers
            for name, before in home.items():
                if before is not None:
                    slot = (home, name)
                    key = _key(slot)
                    is_copied = key not in self._settled or key in self._changing or _is_norm_in_training(module)
                    (copied if is_copied else watched).append(slot)
        return copied, watched

    def _note(self, copied: list[_Slot], watched: list[_Slot]) -> None:
        befores = [home[name] for home, name in copied]
        self._kept += zip(copied, befores, self._copies.of(copied, befores))
        self._seen += [((home, name), home[name], _version(home[name])) for home, name in watched]


class _Copies:
    """Copies that last until the next step, each in the memory that it had in the step before."""

    def __init__(self) -> None:
        self._space: dict[_Key, Any] = {}
        # What was copied the last time, where to, and both by kind: mostly the same tensors are copied in every step.
        self._tensors: list[Any] = []
        self._places: list[Any] = []
        self._kinds: list[tuple[list[Any], list[Any]]] = []

    def of(self, slots: list[_Slot], tensors: list[Any]) -> list[Any]:
        """A copy of each tensor."""
        if len(tensors) != len(self._tensors) or not all(map(operator.is_, tensors, self._tensors)):
            self._place_all(slots, tensors)
        for to, what in self._kinds:
            _write_all(to, what)
        return self._places

    def _place_all(self, slots: list[_Slot], tensors: list[Any]) -> None:
        self._tensors = tensors
        self._places = [self._place(_key(slot), tensor) for slot, tensor in zip(slots, tensors)]
        # One call for all tensors of a kind: launching a copy of each would take as long as a short step.
        kinds: dict[Any, tuple[list[Any], list[Any]]] = {}
        for place, tensor in zip(self._places, tensors):
            to, what = kinds.setdefault((tensor.dtype, tensor.device), ([], []))
            to.append(place)
            what.append(tensor)
        self._kinds = list(kinds.values())

    def _place(self, key: _Key, tensor: Any) -> Any:
        had = self._space.get(key)
        if had is None or had.shape != tensor.shape or had.dtype != tensor.dtype or had.device != tensor.device:
            had = self._space[key] = steadily(lambda: tensor.detach().clone())
        return had


def _key(slot: _Slot) -> _Key:
    home, name = slot
    return id(home), name


def _has_changed(slot: _Slot, before: Any, version: int) -> bool:
    home, name = slot
    return home.get(name) is not before or _version(before) != version


def _write_all(to: list[Any], what: list[Any]) -> None:
    with torch.no_grad():
        steadily(lambda: torch._foreach_copy_(to, what))


def _differs(tensor: Any, copy: Any) -> bool:
    return copy is not None and not steadily(lambda: torch.equal(tensor, copy))


def _is_norm_in_training(module: Any) -> bool:
    return isinstance(module, torch.nn.modules.batchnorm._NormBase) and bool(module.training)


def _version(tensor: Any) -> int:
    # A tensor made in inference mode counts no versions, and only changes in that mode.
    return -1 if tensor.is_inference() else int(tensor._version)
