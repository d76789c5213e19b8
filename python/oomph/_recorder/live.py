"""What the summary tells of a process that runs: its last minutes, and what its memory is for."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterable
from typing import Any

from . import classes, complaint, cuda
from .clock import now

# Ten minutes, where steps take less than two seconds; longer, where they take longer.
KEPT = 300
# Of the time at most one part in so many goes into counting.
SPARING = 500

# [time, step, allocated, reserved, peak of allocated]
Row = tuple[int, int, int, int, int]


class History:
    """What each device held at the ends of steps: always the same moment of a step, so that growth shows."""

    def __init__(self) -> None:
        self._rows: dict[int, deque[Row]] = {}

    def note(self, time: int, step: int, devices: Iterable[dict[str, Any]]) -> None:
        """A step has ended, and these are the devices."""
        for device in devices:
            allocated, reserved, peak = (int(device.get(name, 0)) for name in ("allocated", "reserved", "peak_allocated"))
            self._rows.setdefault(device["index"], deque(maxlen=KEPT)).append((time, step, allocated, reserved, peak))

    def of(self, device: int) -> list[list[int]]:
        """The last of it, oldest first."""
        return [list(row) for row in self._rows.get(device, ())]


class Holdings:
    """The bytes of models and optimizers, by class. They are counted anew at most so often that it costs next to nothing."""

    def __init__(self) -> None:
        self._modules: list[weakref.ref[Any]] = []
        self._optimizers: list[weakref.ref[Any]] = []
        self._counted: dict[int, dict[str, int]] = {}
        # Never counted: 0.
        self._due_us = 0

    def know(self, trained: classes.Trained) -> None:
        """These are the models and optimizers that are alive."""
        self._modules = _weak(trained.modules)
        self._optimizers = _weak(trained.optimizers)
        self._due_us = 0

    def knows(self, optimizer: Any) -> bool:
        return any(known() is optimizer for known in self._optimizers)

    def by_class(self, torch: Any, device: int, has_ended: bool) -> dict[str, int] | None:
        """The bytes on a device when a step had ended; None where no model is known yet. Whether one `has_ended` at this
        moment decides whether they are counted anew: in the middle of a step gradients come and go."""
        if not self._modules and not self._optimizers:
            return None
        began = now()
        if self._due_us == 0 or (has_ended and began >= self._due_us):
            try:
                with cuda.unseen(torch):
                    self._counted = self._count(torch)
            except Exception as error:
                complaint.once("what the memory is for is not counted", error)
            ended = now()
            self._due_us = ended + (ended - began) * SPARING
        return self._counted.get(device, {})

    def _count(self, torch: Any) -> dict[int, dict[str, int]]:
        alive = classes.Trained(_strong(self._modules), _strong(self._optimizers))
        found: dict[int, dict[str, int]] = {}
        for _, device, _, size, name, _ in classes.every_class(torch, alive, []):
            of_device = found.setdefault(device, {})
            of_device[name] = of_device.get(name, 0) + size
        return found


def _weak(things: Iterable[Any]) -> list[weakref.ref[Any]]:
    found = []
    for thing in things:
        try:
            found.append(weakref.ref(thing))
        except TypeError:
            # A class may have no place for it.
            continue
    return found


def _strong(references: Iterable[weakref.ref[Any]]) -> list[Any]:
    return [thing for thing in (reference() for reference in references) if thing is not None]
