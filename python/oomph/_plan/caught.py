"""Programs that handle an out-of-memory error themselves, which a plan never raises."""

from __future__ import annotations

import linecache
import sys

HANDLED = (
    "the script handles out-of-memory errors itself: where this plan says that it does not fit, it may go on with less on the card"
)
_WORDS = ("OutOfMemoryError", "find_executable_batch_size", "out of memory")


def remarks() -> list[str]:
    """What is said of such a script."""
    name = getattr(sys.modules.get("__main__"), "__file__", None)
    lines = linecache.getlines(name) if isinstance(name, str) else []
    return [HANDLED] if any(word in line for line in lines for word in _WORDS) else []
