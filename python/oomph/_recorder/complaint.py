"""What the recorder says when it fails: one line, once for each thing that failed."""

from __future__ import annotations

import sys

_said: set[str] = set()


def once(what: str, error: BaseException | str) -> None:
    """Says on standard error that something of the recorder failed. The program is not to blame and goes on."""
    if what in _said:
        return
    _said.add(what)
    reason = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    try:
        print(f"oomph: {what} ({' '.join(reason.split())})", file=sys.stderr)
    except Exception:
        # Standard error is gone: nobody is left to tell.
        pass
