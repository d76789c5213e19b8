"""The calls that reach the disk, each in one place: tests make them fail, or end the process within them."""

from __future__ import annotations

import os


def write(number: int, data: memoryview | bytes) -> None:
    """Writes all of it."""
    rest = memoryview(data)
    while len(rest):
        # One call takes less than 2 GiB.
        rest = rest[os.write(number, rest[: 1 << 26]) :]


def sync(number: int) -> None:
    """Returns when what was written is on the disk."""
    os.fsync(number)


def replace(old: str, new: str) -> None:
    """Gives a file its name, in one step."""
    os.replace(old, new)


def sync_folder(path: str) -> None:
    """Returns when the names in a folder are on the disk."""
    number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)
