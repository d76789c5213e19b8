"""Managed memory, in which paged optimizers keep their state."""

from __future__ import annotations

import ctypes


def remarks() -> list[str]:
    """How much of it the program had at most; nothing where it had none."""
    try:
        read = ctypes.CDLL(None).oomph_phantom_managed
    except (AttributeError, OSError):
        return []
    read.restype = ctypes.c_uint64
    most = int(read())
    if most == 0:
        return []
    return [
        f"{most / (1 << 20):.2f} MiB are paged memory, which the driver moves to the host where the card is full: not counted"
    ]
