"""What the phantom GPU itself has to say of a run."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator


def _number(name: str) -> int:
    """What a function of the phantom counts; 0 on a real card."""
    try:
        read = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError):
        return 0
    read.restype = ctypes.c_uint64
    return int(read())


def remarks() -> list[str]:
    """How much managed memory the program had at most, in which paged optimizers keep their state; nothing where it had none."""
    most = _number("oomph_phantom_managed")
    if most == 0:
        return []
    return [
        f"{most / (1 << 20):.2f} MiB are paged memory, which the driver moves to the host where the card is full: not counted"
    ]


def doubts() -> list[dict[str, int]]:
    """Workspaces of convolutions that are known only nearly: the bytes of each, and by how many it may be wrong."""
    try:
        tell = ctypes.CDLL(None).oomph_phantom_doubts
    except (AttributeError, OSError):
        return []
    tell.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    tell.restype = ctypes.c_size_t
    count = int(tell(None, 0))
    found = (ctypes.c_uint64 * (2 * count))()
    tell(found, count)
    return [{"bytes": found[2 * place], "by": found[2 * place + 1]} for place in range(count)]


@contextlib.contextmanager
def answers(contents: bytes) -> Iterator[None]:
    """Inside the block, whatever piece of so many bytes is read from the card is this; of eight bytes the first four will
    do: a number, of whichever size."""
    try:
        tell = ctypes.CDLL(None).oomph_phantom_answer
    except (AttributeError, OSError):
        yield
        return
    tell.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    tell.restype = None
    tell(contents, len(contents))
    try:
        yield
    finally:
        tell(None, 0)
