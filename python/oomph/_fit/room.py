"""Whether there is room for an update of an optimizer on the GPUs of its parameters."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from .failures import is_failure

# What an update with room to spare takes at most for a while, as a multiple of its parameters.
_TEMPORARY = 2
# After a failed try to find so much room, it is not looked for again for this many updates.
_PATIENCE = 50

_wait: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


class _Room:
    """What an update of all parameters takes at most for a while, by device. It holds as long as parameters and states are
    the same ones: then every state is there, and an update makes nothing that lasts."""

    def __init__(self, optimizer: Any) -> None:
        self._mark = _mark(optimizer)
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        # Where some never have a gradient, and so no state, it is looked at anew in every update.
        self._lasts = all(each in optimizer.state for each in parameters)
        if not self._lasts:
            parameters = [each for each in parameters if each.grad is not None]
        # The first update makes the state.
        self.is_known = bool(parameters) and all(each.is_cuda and each in optimizer.state for each in parameters)
        self.bytes: dict[Any, int] = {}
        for each in parameters if self.is_known else []:
            self.bytes[each.device] = self.bytes.get(each.device, 0) + each.numel() * each.element_size()
        if all(group.get("fused") for group in optimizer.param_groups):
            self.bytes = {device: min(size, 1 << 20) for device, size in self.bytes.items()}
        else:
            self.bytes = {device: _TEMPORARY * size for device, size in self.bytes.items()}

    def holds(self, optimizer: Any) -> bool:
        return self.is_known and self._lasts and self._mark == _mark(optimizer)


_rooms: weakref.WeakKeyDictionary[Any, _Room] = weakref.WeakKeyDictionary()


def _mark(optimizer: Any) -> list[Any]:
    """Changes where parameters or states come or go."""
    groups = [(id(group["params"]), len(group["params"]), group.get("fused")) for group in optimizer.param_groups]
    return [id(optimizer.state), len(optimizer.state), *groups]


def has_room(optimizer: Any) -> bool:
    """Whether the GPUs of the parameters have room for the update; then PyTorch's cache has it."""
    if _wait.get(optimizer, 0) > 0:
        _wait[optimizer] -= 1
        return False
    room = _rooms.get(optimizer)
    if room is None or not room.holds(optimizer):
        room = _rooms[optimizer] = _Room(optimizer)
    if not room.is_known:
        return False
    try:
        for device, size in room.bytes.items():
            torch.empty(size, dtype=torch.uint8, device=device)
        return True
    except Exception as error:
        if not is_failure(error):
            raise
    _wait[optimizer] = _PATIENCE
    return False
