"""`oomph.record()`: records a part of a program."""

from __future__ import annotations

import os
import sys
import tempfile
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._recorder import files, imports
from ._recorder.recorder import Recorder

if TYPE_CHECKING:
    from .explain import Explanation

_recorder: Recorder | None = None


def _shared() -> Recorder:
    """One recorder a process: `oomph run`'s where there is one."""
    global _recorder
    if _recorder is None:
        process = getattr(sys, "_oomph_process", None)
        if process is not None:
            _recorder = process.recorder
        else:
            from . import __version__

            _recorder = Recorder(version=__version__, on_oom=_save_open_records)
            imports.watch({}, {"torch": _recorder.watch_torch})
    return _recorder


_open: list[Record] = []


def _save_open_records() -> None:
    for record in _open:
        record.save(why="oom")


class Record:
    """A recording: it runs inside `with`, and can be explained after it."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = os.fspath(path) if path is not None else os.path.join(tempfile.mkdtemp("-oomph"), "record.pickle")
        self._began = False

    def __enter__(self) -> Record:
        recorder = _shared()
        torch: Any = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized() and not recorder.is_recording:
            self._began = True
            recorder.begin()
        _open.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _open.remove(self)
        self.save(why="exit" if error is None else "oom")
        if self._began and not _open:
            _shared().end()

    def save(self, path: str | os.PathLike[str] | None = None, why: str = "dump") -> str:
        """Writes what is recorded so far, and says where."""
        where = self.path if path is None else os.fspath(path)
        snapshot, sidecar = _shared().take(why, "record", "")
        files.write_pickle(where, {**snapshot, "oomph": sidecar})
        return where

    def explain(self) -> Explanation:
        """The verdict on the recording."""
        from .explain import explain

        if not os.path.exists(self.path):
            self.save()
        return explain(self.path)


def record(path: str | os.PathLike[str] | None = None) -> Record:
    """Records what PyTorch allocates inside a `with` block, with the lines that do it.

        with oomph.record("step.pickle") as record:
            train_one_step()
        print(record.explain())

    Without a path the recording is kept in a temporary file.
    """
    return Record(path)
