"""Errors that say that memory ran out, and the frames that they keep alive."""

from __future__ import annotations

from collections.abc import Iterable

from oomph import _oomph
from oomph._recorder.exceptions import chain, class_names, text_of


def is_out_of_memory(error: BaseException) -> bool:
    """Whether it says that memory ran out, a device's or the computer's."""
    return _oomph.is_out_of_memory(class_names(error), text_of(error))


def clear_frames(errors: Iterable[BaseException]) -> int:
    """Drops the local variables of every frame that an error's traceback, or that of one in its chain, keeps; gives how
    many frames that were. Frames that still run keep theirs. The traceback can still be printed."""
    cleared: set[int] = set()
    for error in errors:
        for link in chain(error):
            step = link.__traceback__
            while step is not None:
                frame, step = step.tb_frame, step.tb_next
                try:
                    frame.clear()
                except RuntimeError:
                    continue  # It still runs.
                # Before Python 3.13 a frame that was asked for its variables keeps a copy of them; asking again brings
                # the copy up to date.
                _ = frame.f_locals
                cleared.add(id(frame))
    return len(cleared)
