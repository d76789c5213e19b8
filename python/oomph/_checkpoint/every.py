"""When a checkpoint is due: after some time, after some steps, or whichever comes first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from time import monotonic

from oomph._oomph import OomphError

_SECONDS = {
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "m": 60.0,
    "min": 60.0,
    "minute": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)

Wish = int | str | Sequence[int | str]


class Every:
    """Counts steps and time since the last checkpoint."""

    def __init__(self, wish: Wish) -> None:
        self.seconds: float | None = None
        self.steps: int | None = None
        for part in _parts(wish):
            self._add(part, wish)
        self._saved_at = monotonic()
        self._saved_step = 0

    def _add(self, part: int | str, wish: Wish) -> None:
        if isinstance(part, int) and not isinstance(part, bool):
            amount, unit = float(part), "steps"
        else:
            found = _PART.fullmatch(part) if isinstance(part, str) else None
            if found is None:
                raise _wrong(wish)
            amount, unit = float(found[1]), found[2].lower() or "steps"
        if len(unit) > 1:
            unit = unit.removesuffix("s")
        if amount <= 0:
            raise _wrong(wish)
        if unit == "step":
            if not amount.is_integer() or self.steps is not None:
                raise _wrong(wish)
            self.steps = int(amount)
        elif unit in _SECONDS and self.seconds is None:
            self.seconds = amount * _SECONDS[unit]
        else:
            raise _wrong(wish)

    def is_due_by_steps(self, step: int) -> bool:
        """Whether so many steps have been done since the last one; the same on every rank."""
        return self.steps is not None and step - self._saved_step >= self.steps

    def is_due_by_time(self) -> bool:
        """Whether so much time has passed since the last one; each rank has its own clock."""
        return self.seconds is not None and monotonic() - self._saved_at >= self.seconds

    def begin(self, step: int) -> None:
        """Counts from here."""
        self._saved_at = monotonic()
        self._saved_step = step


def _parts(wish: Wish) -> Sequence[int | str]:
    if isinstance(wish, str):
        return re.split(r",|\bor\b", wish)
    if isinstance(wish, int):
        return [wish]
    if not isinstance(wish, Sequence) or not wish:
        raise _wrong(wish)
    return wish


def _wrong(wish: object) -> OomphError:
    return OomphError(
        f"every={wish!r} says no time: write '10min', '90s', '2h', a number of steps such as 500, or both: '10min, 500 steps'"
    )
