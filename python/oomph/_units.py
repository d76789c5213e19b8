"""Amounts of memory, as they are written."""

from __future__ import annotations


def shown(amount: int) -> str:
    """Bytes for people, as every report of oomph writes them: `5.84 GiB`."""
    sign, size = ("-", -amount) if amount < 0 else ("", amount)
    if size < 1 << 10:
        return f"{sign}{size} B"
    for unit, shift in (("KiB", 10), ("MiB", 20)):
        if size < 1 << (shift + 10):
            return f"{sign}{size / (1 << shift):.2f} {unit}"
    return f"{sign}{size / (1 << 30):.2f} GiB"
