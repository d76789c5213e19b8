"""What the recorder says when it fails: one line, once for each thing that failed."""

from __future__ import annotations

import sys

_said: set[str] = set()


def once(what: str, error: BaseException | str, then: str = "") -> None:
    """Says on standard error that something of the recorder failed, why, and what follows. The program is not to blame
    and goes on."""
    if what in _said:
        return
    _said.add(what)
    if sys.stderr is None:
        return
    try:
        reason = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    except Exception:
        # An exception that cannot say what it is.
        reason = type(error).__name__
    try:
        print(f"oomph: {what} ({' '.join(reason.split())}){then and f': {then}'}", file=sys.stderr)
    except Exception:
        # Standard error was closed: there is nobody to tell.
        pass
