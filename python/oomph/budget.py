"""`oomph.budget("12 GiB")`: run as if the card were smaller."""

from __future__ import annotations

import functools
import operator
import os
import sys
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from oomph._oomph import OomphError, format_size, parse_size
from oomph._recorder.cuda import fraction_of

_Function = TypeVar("_Function", bound=Callable[..., Any])

# The fraction that was set here last, by device: before PyTorch 2.8 it cannot be asked for.
_noted: dict[int, float] = {}
# The budgets of each device in the order in which they began, and its fraction from before the first of them.
_active: dict[int, list[Budget]] = {}
_before: dict[int, float] = {}


class Budget:
    """A limit on what PyTorch may hold on each device. It is set as soon as this is made. As a context or as a decorator
    it ends with the block or the call. Of several, the one that began last counts; when all have ended, the limit from
    before them is set again, in whatever order they end."""

    def __init__(self, size: int, device: int | None = None) -> None:
        try:
            size = operator.index(size)
        except TypeError:
            text = f"a budget is a text such as '12 GiB' or a whole number of bytes, not {size!r}"
            raise OomphError(text) from None
        if size <= 0:
            raise OomphError("a budget of nothing lets nothing run: name a size, such as 12 GiB")
        self.size = size
        self._device = device
        # The fraction of each device that stands for it.
        self._fractions: dict[int, float] = {}
        self.apply()

    @property
    def devices(self) -> tuple[int, ...]:
        """The devices that are limited now; empty where there are none, or where the budget has ended."""
        return tuple(self._fractions)

    def apply(self) -> None:
        """Sets the limit; does nothing where it is set already."""
        if self._fractions:
            return
        torch = _torch()
        if torch is None:
            return
        limits = {device: _fraction(torch, device, self.size) for device in _devices(torch, self._device)}
        for device, fraction in limits.items():
            others = _active.setdefault(device, [])
            if not others:
                _before[device] = _in_force(torch, device)
            others.append(self)
            self._fractions[device] = fraction
            _set(torch, device, fraction)

    def end(self) -> None:
        """Ends the budget; the limits are those of the others that have not ended, or those from before them all."""
        fractions, self._fractions = self._fractions, {}
        for device in fractions:
            others = _active[device]
            others.remove(self)
            last = others[-1]._fractions[device] if others else _before[device]
            _set(sys.modules["torch"], device, last)

    def __enter__(self) -> Budget:
        self.apply()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def __call__(self, function: _Function) -> _Function:
        # A decorator limits the calls, not the program.
        self.end()

        @functools.wraps(function)
        def limited(*args: Any, **kwargs: Any) -> Any:
            with Budget(self.size, self._device):
                return function(*args, **kwargs)

        return limited  # type: ignore[return-value]

    def __repr__(self) -> str:
        where = ", ".join(f"GPU {device}" for device in self.devices) or "no device"
        return f"<budget of {format_size(self.size)} on {where}>"


def budget(size: str | int, device: int | None = None) -> Budget:
    """Limits what PyTorch may hold in this process to `size`, such as "12 GiB" or a number of bytes.

        oomph.budget("12 GiB")              # from here on

        with oomph.budget("12 GiB"):        # for a block
            train()

        @oomph.budget("12 GiB")             # for each call
        def train(): ...

    On every device that is visible, or on `device`; in a worker of torchrun (LOCAL_RANK) on its own device, so that no
    others are started for it. CUDA is started if it was not. What the CUDA context and libraries take is not counted.
    """
    return Budget(parse_size(size) if isinstance(size, str) else size, device)


def _torch() -> Any:
    torch = sys.modules.get("torch")
    if torch is None:
        raise OomphError("a budget limits PyTorch's allocator, and torch is not imported: import torch first")
    if not torch.cuda.is_available():
        warnings.warn("no CUDA device here: the budget limits nothing", RuntimeWarning, stacklevel=5)
        return None
    torch.cuda.init()
    return torch


def _devices(torch: Any, device: int | None) -> list[int]:
    count = torch.cuda.device_count()
    if device is None:
        rank = os.environ.get("LOCAL_RANK", "")
        return [int(rank)] if rank.isdecimal() and int(rank) < count else list(range(count))
    if not 0 <= device < count:
        raise OomphError(f"there is no GPU {device}: this process sees {count}")
    return [device]


def _fraction(torch: Any, device: int, size: int) -> float:
    """The fraction of the card that stands for exactly this size."""
    card = torch.cuda.get_device_properties(device)
    total = int(card.total_memory)
    if size > total:
        has = f"{format_size(total)}, {card.name}"
        raise OomphError(f"a budget of {format_size(size)} is more than GPU {device} has ({has})")
    return fraction_of(size, total)


def _in_force(torch: Any, device: int) -> float:
    ask = getattr(torch.cuda, "get_per_process_memory_fraction", None)
    return float(ask(device)) if ask is not None else _noted.get(device, 1.0)


def _set(torch: Any, device: int, fraction: float) -> None:
    torch.cuda.set_per_process_memory_fraction(fraction, device)
    _noted[device] = fraction
