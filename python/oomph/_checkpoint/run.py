"""What `oomph run --resume` and a checkpoint tell each other."""

from __future__ import annotations

import sys
from typing import Any


def resumed_since() -> int | None:
    """In a process that `oomph run --resume` has started again: when the first of its tries began, in microseconds since the
    epoch. None in any other process."""
    found = getattr(_progress(), "since", None)
    return found if isinstance(found, int) else None


def note_loaded(step: int) -> None:
    """The job goes on from this step."""
    progress = _progress()
    if progress is not None:
        progress.begin_at(step)


def note_step(step: int) -> None:
    """The job has done so many steps."""
    progress = _progress()
    if progress is not None:
        progress.at(step)


def _progress() -> Any:
    return getattr(getattr(sys, "_oomph_process", None), "progress", None)
