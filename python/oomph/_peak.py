"""The lines that held memory at the peak of a stretch of a program, where PyTorch kept a record of it."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from oomph._oomph import Verdict, explain_file, format_size
from oomph._recorder.clock import now
from oomph._recorder.files import write_pickle
from oomph._recorder.stacks import RING


@dataclass(frozen=True)
class Line:
    """What one line of the program held."""

    device: int
    bytes: int
    count: int
    place: str

    def __str__(self) -> str:
        times = f" ×{self.count}" if self.count > 1 else ""
        return f"{format_size(self.bytes):>10}  {self.place}{times}"


def is_recording(torch: Any) -> bool:
    """Whether PyTorch keeps a record of its allocations now."""
    enabled = getattr(torch._C, "_cuda_isHistoryEnabled", None)
    return bool(enabled is not None and torch.cuda.is_initialized() and enabled())


class Stretch:
    """The most that the tensors of a stretch of the program take, above what was in use before it. The stretch begins
    when this is made, and PyTorch's own peak statistics begin anew with it."""

    def __init__(self, torch: Any, device: int | None = None) -> None:
        self._torch = torch
        torch.cuda.init()
        devices = range(torch.cuda.device_count()) if device is None else [device]
        # What was left in cycles before would be freed on the way, and make it seem smaller.
        gc.collect()
        # Bytes in use before, by device.
        self.before = {n: int(torch.cuda.memory_allocated(n)) for n in devices}
        for n in devices:
            torch.cuda.reset_peak_memory_stats(n)
        self._start = now()

    def most(self) -> tuple[int, int]:
        """The device where it took most so far, and how much."""
        taken = {n: int(self._torch.cuda.max_memory_allocated(n)) - held for n, held in self.before.items()}
        device = max(taken, key=lambda n: taken[n])
        return device, taken[device]

    def lines(self, device: int) -> list[Line]:
        """Who held memory at that peak, where a record is kept."""
        if not is_recording(self._torch):
            return []
        found = lines(since(self._torch.cuda.memory._snapshot(), self._start))
        return [line for line in found if line.device == device]


@contextlib.contextmanager
def recording(torch: Any) -> Iterator[None]:
    """Lets PyTorch record its allocations inside the block. Where it does so already, it goes on as before; without a
    GPU nothing is recorded."""
    if not torch.cuda.is_available():
        yield
        return
    # Before CUDA has started there is no allocator to be told.
    torch.cuda.init()
    if is_recording(torch):
        yield
        return
    # Stacks of allocations alone: those of frees, taken on autograd's threads, break gradient checkpointing.
    torch.cuda.memory._record_memory_history("all", context="alloc", stacks="python", max_entries=RING)
    try:
        yield
    finally:
        torch.cuda.memory._record_memory_history(None)


def since(snapshot: dict[str, Any], start: int) -> dict[str, Any]:
    """The record from a moment on."""
    traces = [[event for event in trace if event.get("time_us", start) >= start] for trace in snapshot["device_traces"]]
    return {**snapshot, "device_traces": traces}


def verdict_on_record(snapshot: dict[str, Any], limit: int | None = None) -> Verdict:
    """The verdict on a record."""
    folder = tempfile.mkdtemp(prefix="oomph-")
    path = os.path.join(folder, "record.pickle")
    try:
        write_pickle(path, snapshot)
        return explain_file(path, limit)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
        os.rmdir(folder)


def lines(snapshot: dict[str, Any]) -> list[Line]:
    """Who held memory at the peak of a record, or when a request failed: the largest first, device by device."""
    if not any(snapshot["device_traces"]):
        return []
    found = json.loads(verdict_on_record(snapshot).json())
    devices = found if isinstance(found, list) else [found]
    return [
        Line(device["trace"]["device"], held["bytes"], held["count"], _place(held["place"]))
        for device in devices
        for held in device["holders"]
    ]


def _place(place: dict[str, Any] | None) -> str:
    if place is None:
        return "no Python line: autograd's threads, C++, or from before"
    return f"{os.path.basename(place['file'])}:{place['line']} {place['function']}"
