"""The clock of a recording."""

from __future__ import annotations

from collections.abc import Callable

# The function itself: a program may replace the module's, to stop its clock.
from time import time_ns


class Sparing:
    """Does something now and then: at most a tenth of the time is spent on it, but for the first time."""

    def __init__(self) -> None:
        self._ended = 0
        self._cost = 0

    def forget(self) -> None:
        """The next time is the first."""
        self._ended = self._cost = 0

    def run(self, work: Callable[[], object]) -> None:
        began = now()
        if self._ended and began - self._ended < 10 * self._cost:
            return
        work()
        self._ended = now()
        self._cost = self._ended - began


def now() -> int:
    """Unix time in microseconds: the clock of the allocator's own events, to the microsecond on a real GPU."""
    return time_ns() // 1000
