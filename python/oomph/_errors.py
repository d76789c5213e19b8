"""Errors that say that memory ran out, and the frames that they keep alive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

# Classes of the frameworks, by name: none of them is imported to be asked.
_CLASSES = frozenset({"OutOfMemoryError", "ResourceExhaustedError"})
_WORDS = ("out of memory", "RESOURCE_EXHAUSTED", "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether it says that memory ran out, a device's or the computer's: Python, torch, JAX and TensorFlow, by class or
    by text."""
    if isinstance(error, MemoryError) or any(kind.__name__ in _CLASSES for kind in type(error).__mro__):
        return True
    if not isinstance(error, RuntimeError):
        return False
    # An error may hold anything; a text that cannot be made says nothing.
    try:
        text = str(error)
    except Exception:
        return False
    return any(word in text for word in _WORDS)


def chain(error: BaseException) -> Iterator[BaseException]:
    """The error, and all that it was raised from, was raised while handling, or gathers; each once."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        found = waiting.pop()
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        waiting += [found.__context__, found.__cause__]
        gathered = getattr(found, "exceptions", None)
        if isinstance(gathered, tuple):
            waiting += [inner for inner in gathered if isinstance(inner, BaseException)]


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
