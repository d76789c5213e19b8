"""What the lines of the program say that asked for memory. Two recordings of a program that was edited in between are
compared by them: the file says what it says now."""

from __future__ import annotations

import os
import stat
from typing import Any

# The function itself: a program may replace the builtin, and would notice that somebody calls it.
from io import open as open_file

from .cells import LONGEST, NAME, frames_of

# Files of installed packages, of Python and of oomph are no program's own.
_LIBRARIES = ("site-packages", "dist-packages", f"{os.sep}lib{os.sep}python", "/_oomph_", "/oomph/_")
# No source that people write is longer; neither are so many files read, nor so many lines of one kept.
_LONGEST_FILE = 4 << 20
_MOST_FILES = 256
_MOST_LINES = 4096


def lines(snapshot: dict[str, Any]) -> list[dict[str, Any]]:
    """Each file of the program's with its lines, as a recording holds them; empty are those that no stack names."""
    wanted: dict[str, set[int]] = {}
    for frame in frames_of(snapshot):
        file, line = frame["filename"], frame["line"]
        if file in wanted:
            wanted[file].add(line)
        elif _is_own(file) and len(wanted) < _MOST_FILES:
            wanted[file] = {line}
    rows = []
    for file, numbers in wanted.items():
        said = _read(file)
        last = min(max(numbers), len(said), _MOST_LINES)
        code = [said[number - 1].strip()[:LONGEST] if number in numbers else "" for number in range(1, last + 1)]
        if any(code):
            rows.append({"name": file, "code": code})
    return rows


def _is_own(file: str) -> bool:
    return file.endswith(".py") and not NAME.fullmatch(file) and not any(part in file for part in _LIBRARIES)


def _read(file: str) -> list[str]:
    """The lines of a file; none where it cannot be read."""
    try:
        # A pipe would keep us waiting.
        if not stat.S_ISREG(os.stat(file).st_mode):
            return []
        with open_file(file, "rb") as source:
            return source.read(_LONGEST_FILE).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return []
