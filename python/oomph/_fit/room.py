"""Whether there is room for an update of an optimizer on the GPUs of its parameters."""

from __future__ import annotations

from typing import Any

import torch

from .failures import is_failure

# What an update with room to spare takes at most for a while, as a multiple of its parameters.
_TEMPORARY = 2
# After a failed try to find so much room, it is not looked for again for this many updates.
_PATIENCE = 50


class _Need:
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


class Room:
    """Whether the GPUs of an optimizer's parameters have room for its update."""

    def __init__(self) -> None:
        self._need: _Need | None = None
        self._wait = 0

    def is_there(self, optimizer: Any) -> bool:
        """Whether there is room for an update now; then PyTorch's cache has it."""
        if self._wait > 0:
            self._wait -= 1
            return False
        need = self._need
        if need is None or not need.holds(optimizer):
            need = self._need = _Need(optimizer)
        if not need.is_known:
            return False
        try:
            for device, size in need.bytes.items():
                torch.empty(size, dtype=torch.uint8, device=device)
            return True
        except Exception as error:
            if not is_failure(error):
                raise
        self._wait = _PATIENCE
        return False


def _mark(optimizer: Any) -> list[Any]:
    """Changes where parameters or states come or go."""
    mark = [id(optimizer.state), len(optimizer.state)]
    for group in optimizer.param_groups:
        parameters = group["params"]
        mark += (id(parameters), len(parameters), group.get("fused"))
    return mark
