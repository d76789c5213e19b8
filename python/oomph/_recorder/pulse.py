"""Where a process is at this moment: three numbers in NAME.pulse of the run's folder, which `oomph top` reads.

They are written while steps are slow. Where a step takes less than a second, the summary of every two seconds says as much.
"""

from __future__ import annotations

import os
import struct

from . import complaint

# The function itself: a program may replace the module's.
from os import fstat, pwrite

# In the order in which oomph's reader numbers them.
KINDS = ("step", "backward", "backward_end", "optimizer", "optimizer_end", "train", "eval")
# A step that takes this long is slow.
SLOW_US = 1_000_000
_LAYOUT = struct.Struct("<QQQ")


class Pulse:
    """Notes marks into a file. Never raises."""

    def __init__(self, path: str) -> None:
        self._is_slow = True
        self._step_us = 0
        self._number: int | None = None
        try:
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            self._number = os.open(path, flags, 0o600)
            self._identity = self._found(self._number)
        except OSError as error:
            complaint.once("where the program is, is not noted", error)

    @staticmethod
    def _found(number: int) -> tuple[int, int]:
        found = fstat(number)
        return found.st_dev, found.st_ino

    def note(self, time: int, kind: str, step: int) -> None:
        """The program has passed a mark."""
        if kind == "step":
            self._is_slow = time - self._step_us >= SLOW_US
            self._step_us = time
        if self._number is None or not (self._is_slow or kind in ("eval", "train")):
            return
        try:
            # A program may close all files, and open others under their numbers.
            if self._found(self._number) != self._identity:
                raise OSError("its file was closed")
            pwrite(self._number, _LAYOUT.pack(time, step, KINDS.index(kind)), 0)
        except OSError:
            # What was noted before is older than the next summary, which counts then.
            self._number = None
