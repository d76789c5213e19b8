"""The exception that ended the program, and the stack of one that is about to be raised."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

# A traceback longer than this is cut in its middle: recursion that ran away.
LONGEST = 64 << 10
DEEPEST = 200

_WORDS = ("out of memory", "outofmemory", "resource_exhausted", "resource exhausted", "resourceexhausted", "oom when")


def frames(frame: FrameType | None) -> list[dict[str, Any]]:
    """The stack from a frame up, innermost first. Whoever reads it passes over the lines of the recorder."""
    found: list[dict[str, Any]] = []
    while frame is not None and len(found) < DEEPEST:
        code = frame.f_code
        found.append({"filename": code.co_filename, "line": frame.f_lineno or 0, "name": code.co_name})
        frame = frame.f_back
    return found


def main_frame() -> FrameType | None:
    """Where the main thread is: it waits there while another one computes gradients."""
    import threading

    return sys._current_frames().get(threading.main_thread().ident or 0)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory ran out: by its type's name or its own words, for every framework."""
    if isinstance(error, MemoryError):
        return True
    text = f"{type(error).__name__} {error}"[:4096].lower()
    return any(word in text for word in _WORDS)


def _ran_out(error: BaseException) -> bool:
    """Whether it, or what it was raised from, says so."""
    chain: BaseException | None = error
    for _ in range(20):
        if chain is None:
            return False
        if is_out_of_memory(chain):
            return True
        chain = chain.__cause__ or chain.__context__
    return False


def describe(error: BaseException) -> dict[str, Any]:
    import traceback

    try:
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except Exception:
        # An exception that cannot print itself.
        trace = type(error).__name__
    if len(trace) > LONGEST:
        trace = f"{trace[: LONGEST // 2]}\n[…]\n{trace[-LONGEST // 2 :]}"
    kind = type(error)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return {
        "type": f"{module}{kind.__qualname__}",
        "text": str(error)[:LONGEST],
        "traceback": trace,
        "uncaught": True,
        "oom": _ran_out(error),
    }


def _last() -> BaseException | None:
    """The exception nobody caught. Python notes it before it prints it, whoever prints it."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return error if isinstance(error, BaseException) else None


def last() -> dict[str, Any] | None:
    error = _last()
    return None if error is None else describe(error)


def last_is_oom() -> bool:
    """Whether the exception nobody caught says that memory ran out."""
    error = _last()
    return error is not None and _ran_out(error)
