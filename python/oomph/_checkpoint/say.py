"""What checkpoints say: one line each, on standard error."""

from __future__ import annotations

import sys

_said: set[str] = set()


def line(text: str) -> None:
    """Says it. Never raises: where standard error is closed, there is nobody to tell."""
    if sys.stderr is None:
        return
    try:
        print(f"oomph: {' '.join(text.split())}", file=sys.stderr, flush=True)
    except Exception:
        pass


def once(text: str) -> None:
    """Says it the first time."""
    if text not in _said:
        _said.add(text)
        line(text)


def reason(error: BaseException) -> str:
    """An error as part of a line: what the system says of a file, or the exception's class and text."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__
