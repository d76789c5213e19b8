"""Where the program asked for values that only a GPU could have computed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

# A stack as recordings hold it: files, lines and functions, innermost first.
Stack = list[dict[str, Any]]

# Rows that are kept: a program that asks in more places than this is not understood better by more of them.
KEPT = 200


class Questions:
    """Counts questions by kind and stack. Which line of a stack is the program's own is decided by whoever reads them."""

    def __init__(self, stack_of: Callable[[FrameType | None], Stack]) -> None:
        self._stack_of = stack_of
        self._rows: dict[tuple[str, tuple[tuple[str, int], ...]], dict[str, Any]] = {}

    def value(self, kind: str) -> None:
        """A value was asked for, and an invented one was given."""
        self._count(kind, 0)

    def shape(self, kind: str, most: int) -> None:
        """How long a result is depends on values nobody knows; it was given its greatest length, of so many bytes."""
        self._count(kind, most)

    def stack(self) -> Stack:
        """The lines that led here, with those of this package among them."""
        return self._stack_of(sys._getframe(1))

    def _count(self, kind: str, most: int) -> None:
        stack = self.stack()
        key = (kind, tuple((frame["filename"], frame["line"]) for frame in stack))
        row = self._rows.get(key)
        if row is None:
            if len(self._rows) >= KEPT:
                return
            row = self._rows[key] = {"kind": kind, "frames": stack, "count": 0, "bytes": 0}
        row["count"] += 1
        row["bytes"] = max(row["bytes"], most)

    def rows(self) -> list[dict[str, Any]]:
        """In the order of the first question."""
        return list(self._rows.values())
