"""`oomph.record()`: records a part of a program."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from types import TracebackType
from typing import TYPE_CHECKING

from ._recorder import failures, files, imports
from ._recorder.clock import now
from ._recorder.recorder import Recorder

if TYPE_CHECKING:
    from ._oomph import Verdict
    from .explain import Explanation

_recorder: Recorder | None = None
# Who wants this process to be recorded now: open records, loaded notebooks.
_users: list[object] = []
_open: list[Record] = []
# Where records with failures are, and from when to when they are.
_failed: dict[str, tuple[int, int]] = {}


def _existing() -> Recorder | None:
    """The recorder of this process, if it has one."""
    process = getattr(sys, "_oomph_process", None)
    return process.recorder if process is not None else _recorder


def _shared() -> Recorder:
    """One recorder a process: `oomph run`'s where there is one, which records whoever wants it."""
    global _recorder
    recorder = _existing()
    if recorder is None:
        from . import __version__

        recorder = _recorder = Recorder(version=__version__, waits=True)
        imports.watch({}, {"torch": recorder.watch_torch})
    if _save_open_records not in recorder.on_oom:
        recorder.on_oom.append(_save_open_records)
    return recorder


def join(user: object) -> Recorder:
    """This process is recorded from here on, or from CUDA's first use, until every user has left."""
    recorder = _shared()
    _users.append(user)
    if recorder is _recorder:
        recorder.resume()
    return recorder


def leave(user: object) -> None:
    """The user does without the recorder from here on."""
    _users.remove(user)
    if not _users and _recorder is not None:
        _recorder.end()


def _save_open_records() -> None:
    for record in _open:
        record.save(why="oom")


def verdict_on(error: BaseException, limit: int | None = None, since: int | None = None) -> Verdict | None:
    """The verdict on an error by the recording of this process; None where that does not show it. Where its stack is not
    that of a failure, failures from `since` on are taken for its own."""
    from . import _peak
    from ._oomph import explain_file

    recorder = _existing()
    if recorder is None:
        return None
    own = failures.of_error(error, recorder.ooms)
    if not own and since is not None:
        own = [oom for oom in recorder.ooms if oom["time_us"] >= since]
    if not own:
        return None
    first, last = min(oom["time_us"] for oom in own), max(oom["time_us"] for oom in own)
    if recorder.is_recording:
        snapshot, sidecar = recorder.take("dump", "record", "", since=first)
        if any(event["action"] == "oom" for trace in snapshot["device_traces"] for event in trace):
            return _peak.verdict_on_record({**snapshot, "oomph": sidecar}, limit)
    for path, (began, ended) in reversed(_failed.items()):
        if began <= last <= ended and os.path.exists(path):
            return explain_file(path, limit)
    return None


class Record:
    """A recording: it runs inside `with`, and can be explained after it."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = os.fspath(path) if path is not None else os.path.join(tempfile.mkdtemp("-oomph"), "record.pickle")
        self._began = 0

    def __enter__(self) -> Record:
        self._began = now()
        join(self)
        _open.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.save(why="exit" if error is None else "oom")
        finally:
            _open.remove(self)
            leave(self)

    def save(self, path: str | os.PathLike[str] | None = None, why: str = "dump") -> str:
        """Writes what is recorded so far, and says where. After the `with` block that is what it held at its end."""
        where = self.path if path is None else os.fspath(path)
        if self not in _open and os.path.exists(self.path):
            if where != self.path:
                shutil.copyfile(self.path, where)
            return where
        snapshot, sidecar = _shared().take(why, "record", "", since=self._began)
        files.write_pickle(where, {**snapshot, "oomph": sidecar})
        if sidecar["ooms"] and where == self.path:
            _failed[where] = self._began, sidecar["written_us"]
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
