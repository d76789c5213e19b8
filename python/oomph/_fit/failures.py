"""What counts as running out of memory, and how its leavings are dropped."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from oomph._errors import clear_frames, is_out_of_memory

_Value = TypeVar("_Value")

# So often a short operation is tried that may be run again and needs next to nothing.
_TRIES = 4


def is_failure(error: BaseException) -> bool:
    """Whether a step that raised it may fit in smaller parts."""
    return isinstance(error, Exception) and is_out_of_memory(error)


def make_room(error: BaseException | None = None) -> None:
    """Drops what the frames of a failure hold, and gives the cache back to the driver.

    Call it outside of the `except` block: inside, Python itself still holds the frames. The error keeps its traceback,
    without variables, so that it can be raised again.
    """
    if error is not None:
        clear_frames([error])
    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def steadily(operation: Callable[[], _Value]) -> _Value:
    """Runs what may be run again without harm, a few times if memory runs out."""
    for _ in range(_TRIES - 1):
        try:
            return operation()
        except Exception as error:
            if not is_failure(error):
                raise
            failure = error
        make_room(failure)
        del failure
    return operation()


def once(tensor: Any, operation: Callable[[], object]) -> None:
    """Runs what changes a tensor in place, once, also if memory runs out: the version tells whether it was done."""
    version = tensor._version
    steadily(lambda: operation() if tensor._version == version else None)


def write(tensor: Any, value: Any) -> None:
    """Writes a value into a tensor."""
    with torch.no_grad():
        steadily(lambda: tensor.copy_(value))


def noted(error: BaseException, note: str) -> BaseException:
    """The error, with one more line about what oomph could not do."""
    line = f"oomph.fit: {note}"
    if hasattr(error, "add_note"):
        error.add_note(line)
    else:
        error.args = (f"{error}\n{line}",)
    return error


class Refusal(Exception):
    """Why a step cannot be run in parts. The text becomes the note of the failure that asked for it."""
