"""Starts the recorder in every Python process under `oomph run`, then makes way for the sitecustomize that was there."""

import os
import sys


def _next(folder: str) -> None:
    """Runs the sitecustomize that this one hides. PYTHONPATH stays as it is, for processes started from this one."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != folder]
    mine = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        if mine is not None:
            sys.modules["sitecustomize"] = mine


def _record(folder: str) -> None:
    try:
        sys.path.insert(0, folder)
        try:
            import _oomph_recorder  # type: ignore[import-not-found]
        finally:
            sys.path.remove(folder)
        _oomph_recorder.start()
    except Exception as error:
        print(f"oomph: not recording: {error!r}", file=sys.stderr)


_folder = os.path.dirname(os.path.abspath(__file__))
try:
    _next(_folder)
finally:
    _record(_folder)
