"""PyTorch's CUDA: when it starts, its peaks and limits, and programs that record for themselves."""

from __future__ import annotations

import contextlib
import functools
import math
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from . import complaint


def when_initialized(torch: Any, begin: Callable[[], None]) -> None:
    """Calls `begin` when CUDA comes up, before the first allocation."""
    lazily = getattr(torch.cuda, "_lazy_call", None)
    if lazily is None:
        complaint.once("the allocator's events are not recorded", "this PyTorch has no CUDA")
        return
    lazily(begin)


def as_imported(torch: Any) -> Any:
    """What the recorder asks of PyTorch's CUDA, as it is now. A program may replace these functions, and would notice that
    somebody calls them."""
    names = ("current_device", "device_count", "get_device_properties", "is_initialized", "mem_get_info", "memory_stats")
    return SimpleNamespace(
        snapshot=functools.partial(_snapshot, torch, torch.cuda.memory._snapshot),
        **{name: getattr(torch.cuda, name) for name in names},
    )


def _snapshot(torch: Any, take: Callable[[], Any]) -> Any:
    """The allocator's snapshot. To name the lines of compiled code, PyTorch 2.11 imports its whole compiler for it: that
    takes seconds, and Python forgets that it was interrupted. A program that has not imported it has no such lines."""
    if "torch._inductor" in sys.modules or "_inductor" in vars(torch):
        return take()
    nothing = torch._inductor = SimpleNamespace()
    try:
        return take()
    finally:
        if vars(torch).get("_inductor") is nothing:
            del torch._inductor


def unseen(torch: Any) -> contextlib.AbstractContextManager[Any]:
    """While this lasts, tensors are read without the program's `__torch_function__`, of subclasses as of modes."""
    without: Callable[[], contextlib.AbstractContextManager[Any]] = getattr(torch._C, "DisableTorchFunction", contextlib.nullcontext)
    return without()


def own_recording(
    torch: Any, at_takeover: Callable[[], None], at_return: Callable[[], None]
) -> Callable[..., None]:
    """PyTorch's function that switches recording. A program that calls it for itself takes over: `at_takeover`; until it
    switches its recording off: `at_return`."""
    memory = torch.cuda.memory
    record: Callable[..., None] = memory._record_memory_history

    @functools.wraps(record)
    def recorded_by_the_program(enabled: Any = "all", *args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        at_takeover()
        record(enabled, *args, **kwargs)
        if enabled is None:
            at_return()

    memory._record_memory_history = recorded_by_the_program
    return record


class Peaks:
    """The greatest values of PyTorch's counters, also where the program sets them back."""

    NAMES = ("requested", "allocated", "active", "reserved")

    def __init__(self) -> None:
        self._before: dict[tuple[int, str], int] = {}

    def of(self, device: int, stats: dict[str, Any]) -> dict[str, int]:
        """The peaks of a device whose `memory_stats` are these."""
        found = {}
        for name in self.NAMES:
            peak = int(stats.get(f"{name}_bytes.all.peak", 0))
            found[f"peak_{name}"] = max(peak, self._before.get((device, name), 0))
        return found

    def watch(self, torch: Any) -> None:
        original, cuda = torch.cuda.memory.reset_peak_memory_stats, as_imported(torch)

        @functools.wraps(original)
        def reset_peak_memory_stats(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            try:
                for device in range(cuda.device_count()):
                    for name, peak in self.of(device, cuda.memory_stats(device)).items():
                        self._before[(device, name.removeprefix("peak_"))] = peak
            except Exception as error:
                complaint.once("peaks before a reset are not known", error)
            return original(*args, **kwargs)

        torch.cuda.memory.reset_peak_memory_stats = reset_peak_memory_stats
        torch.cuda.reset_peak_memory_stats = reset_peak_memory_stats


def fraction_of(size: int, total: int) -> float:
    """The smallest fraction of a card that PyTorch turns into this size: it multiplies and cuts off."""
    fraction = size / total
    while int(fraction * total) < size:
        fraction = math.nextafter(fraction, 2.0)
    return min(fraction, 1.0)


class Limits:
    """What PyTorch may hold of each card: `--limit`, or what is left on a smaller card beside a context."""

    def __init__(self, limit: int | None, card: int | None) -> None:
        self._limit = limit
        self._card = card
        self._limited: dict[int, int] = {}
        self._totals: dict[int, int] = {}

    def _total(self, torch: Any, device: int) -> int:
        if device not in self._totals:
            self._totals[device] = int(torch.cuda.get_device_properties(device).total_memory)
        return self._totals[device]

    def of(self, torch: Any, device: int) -> int:
        """The bytes that PyTorch may hold on a device, as far as the recorder knows."""
        return self._limited.get(device) or self._total(torch, device)

    def in_force(self, device: int) -> int | None:
        """The bytes that were set here as a device's limit. A fraction that the program set itself is noted as such."""
        return self._limited.get(device)

    def apply(self, torch: Any) -> None:
        """Limits the current device, once."""
        if self._limit is None and self._card is None:
            return
        device = torch.cuda.current_device()
        if device in self._limited:
            return
        free, total = torch.cuda.mem_get_info(device)
        allowed = self._limit
        if allowed is None and self._card is not None:
            # What this process holds beside PyTorch's cache would be held on the other card as well.
            allowed = self._card - min(max(total - free, 0), _LARGEST_CONTEXT)
        assert allowed is not None
        if allowed >= total:
            if self._card is not None and self._card > total:
                complaint.once("the card is smaller than the one asked for", f"it has {total} bytes")
            return
        torch.cuda.set_per_process_memory_fraction(fraction_of(allowed, total), device)
        self._limited[device] = allowed

    def follow(self, torch: Any) -> None:
        """With several cards, limits each one that the program switches to."""
        if (self._limit is None and self._card is None) or torch.cuda.device_count() < 2:
            return
        original = torch.cuda.set_device

        @functools.wraps(original)
        def set_device(device: Any) -> None:
            __tracebackhide__ = True
            original(device)
            try:
                self.apply(torch)
            except Exception as error:
                complaint.once("the limit is not set", error)

        torch.cuda.set_device = set_device


# A CUDA context with its libraries holds 0.3 to 0.8 GiB; what is in use beyond this belongs to other processes.
_LARGEST_CONTEXT = 1 << 30
