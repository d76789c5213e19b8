"""Exceptions and stacks, as a recording notes them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from . import cells

# A traceback longer than this is cut in its middle: endless recursion makes such.
LONGEST = 64 << 10
# As much is noted of the text of each exception in a chain, and so many of them.
LONGEST_LINK = 4 << 10
MOST_LINKS = 20
DEEPEST = 200
# So many lines of a failure's stack are noted with what they say.
QUOTED = 40

# What most of the errors about memory say. See `may_be_out_of_memory`.
_WORDS = ("out of memory", "outofmemory", "exhausted", "memoryerror", "oom when")


def frames(frame: FrameType | None) -> list[dict[str, Any]]:
    """The stack from a frame up, innermost first. Whoever reads it passes over the lines of the recorder."""
    found: list[dict[str, Any]] = []
    while frame is not None and len(found) < DEEPEST:
        code = frame.f_code
        found.append({"filename": code.co_filename, "line": frame.f_lineno or 0, "name": code.co_name})
        frame = frame.f_back
    return found


def quoted(found: list[dict[str, Any]]) -> list[str]:
    """What the first lines of a stack say; empty where a file is not there."""
    return [cells.line_of(frame["filename"], frame["line"]) for frame in found[:QUOTED]]


def main_frame() -> FrameType | None:
    """Where the main thread is: it waits there while another one computes gradients."""
    import threading

    return sys._current_frames().get(threading.main_thread().ident or 0)


def frames_of_request(frame: FrameType | None) -> list[dict[str, Any]]:
    """The stack of whoever asks for memory. A thread of autograd knows compiled code and hooks at most: the lines of the
    main thread, which waits for it, follow."""
    import threading

    own = frames(frame)
    return own if threading.current_thread() is threading.main_thread() else own + frames(main_frame())


def frames_of_error(error: BaseException) -> list[dict[str, Any]]:
    """The stack that its traceback shows, innermost first, up to the function that caught it."""
    found: list[dict[str, Any]] = []
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        found.append({"filename": code.co_filename, "line": step.tb_lineno, "name": code.co_name})
        step = step.tb_next
    return found[: -DEEPEST - 1 : -1]


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


def class_names(error: BaseException) -> list[str]:
    """Its class and those that it derives from, each as Python prints it: `torch.OutOfMemoryError`."""
    kinds = [kind for kind in type(error).__mro__ if kind is not object]
    modules = ("" if kind.__module__ == "builtins" else f"{kind.__module__}." for kind in kinds)
    return [f"{module}{kind.__qualname__}" for module, kind in zip(modules, kinds)]


def text_of(error: BaseException) -> str:
    """What it says; nothing where it cannot say it: an exception may hold anything."""
    try:
        return str(error)
    except Exception:
        return ""


def may_be_out_of_memory(error: BaseException) -> bool:
    """A guess at whether it, or what it was raised from, says that memory ran out. It decides which files are kept when
    the process ends. For the verdict it is a note: whoever reads the recording judges the words, and knows many more."""
    links = list(chain(error))[:MOST_LINKS]
    texts = (f"{' '.join(class_names(link))} {text_of(link)[:LONGEST_LINK]}".lower() for link in links)
    return any(word in text for text in texts for word in _WORDS)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest // 2]}\n[…]\n{text[-longest // 2 :]}"


def traceback_of(error: BaseException) -> str:
    """The traceback as Python prints it, with cells called as the notebook calls them."""
    import traceback

    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    files = {frame.f_code.co_filename for link in chain(error) for frame, _ in traceback.walk_tb(link.__traceback__)}
    for file in files:
        text = text.replace(f'File "{file}"', f'File "{cells.name_of(file)}"')
    return text


def describe(error: BaseException) -> dict[str, Any]:
    """An exception that nobody caught, as a recording holds it."""
    names = class_names(error)
    try:
        # An import may make Python forget that it was interrupted, and it would end with 1 instead of by the signal.
        would_import = isinstance(error, KeyboardInterrupt) and "traceback" not in sys.modules
        trace = names[0] if would_import else traceback_of(error)
    except Exception:
        # An exception that cannot print itself.
        trace = type(error).__name__
    links = list(chain(error))[:MOST_LINKS]
    return {
        "type": names[0],
        "text": text_of(error)[:LONGEST],
        "traceback": _cut(trace, LONGEST),
        "uncaught": True,
        "oom": may_be_out_of_memory(error),
        "chain": [{"classes": class_names(link), "text": _cut(text_of(link), LONGEST_LINK)} for link in links],
    }


def last() -> BaseException | None:
    """The exception nobody caught. Python notes it before it prints it, whoever prints it."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return error if isinstance(error, BaseException) else None
