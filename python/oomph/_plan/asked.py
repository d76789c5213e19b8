"""Where the program asked for values that only a GPU could have computed."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

# Lines that are told; a program that asks in more places than this is not told more clearly.
KEPT = 200


def _is_library(path: str) -> bool:
    return "site-packages" in path or "dist-packages" in path or "/lib/python3" in path or path.startswith("<")


def place() -> tuple[str, int]:
    """The innermost line of the program itself, else the innermost line outside this folder and PyTorch."""
    frame: FrameType | None = sys._getframe(1)
    other: tuple[str, int] | None = None
    while frame is not None:
        path = frame.f_code.co_filename
        if not _is_library(path) and "_plan" not in path:
            return path, frame.f_lineno or 0
        if other is None and "_plan" not in path and "/torch/" not in path:
            other = (path, frame.f_lineno or 0)
        frame = frame.f_back
    return other or ("", 0)


class Asked:
    """Counts questions by kind and line."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str, int], list[int]] = {}

    def value(self, kind: str) -> None:
        """A value was asked for, and an invented one was given."""
        self._count(kind, 0)

    def shape(self, kind: str, most: int) -> None:
        """How long a result is depends on values nobody knows; it was given its greatest length, of so many bytes."""
        self._count(kind, most)

    def _count(self, kind: str, most: int) -> None:
        key = (kind, *place())
        row = self._rows.get(key)
        if row is None:
            if len(self._rows) >= KEPT:
                return
            row = self._rows[key] = [0, 0]
        row[0] += 1
        row[1] = max(row[1], most)

    def rows(self) -> list[dict[str, Any]]:
        """In the order of the first question."""
        return [
            {"kind": kind, "file": path, "line": line, "count": count, "bytes": most}
            for (kind, path, line), (count, most) in self._rows.items()
        ]
