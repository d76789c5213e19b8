"""How far a job is, for `oomph run --resume`: two numbers in the run's folder. The file is shared memory, so that they are
right even of a process that is killed."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from os import getpid
from typing import Any

from . import complaint, files

SIZE = 16


class Progress:
    """The step that the job began with, and the steps that are done. Of several processes the first that does a step notes
    its own; of ranks it is rank 0."""

    def __init__(self, folder: str, config: dict[str, Any]) -> None:
        since = config.get("since_us")
        # When the first try began, in a process that was started again.
        self.since: int | None = since if config.get("restarts") and isinstance(since, int) else None
        self._folder = folder
        self._pid = getpid()
        self._memory: mmap.mmap | None = None
        self._is_mine = os.environ.get("RANK", "0") == "0"
        self._from = 0
        # Whether the job counts its steps itself.
        self._is_told = False
        # What a framework counts; asked at the first step, which it has not counted yet.
        self.counted: Callable[[], int] | None = None

    def begin_at(self, step: int) -> None:
        """The job goes on from a checkpoint of this step."""
        self._from = step
        self._note(step)

    def at(self, step: int) -> None:
        """The job says how many steps are done."""
        self._is_told = True
        self._note(step)

    def at_step(self, step: int) -> None:
        """The recorder has counted so many in this process."""
        if self._is_told:
            return
        counted, self.counted = self.counted, None
        if counted is not None:
            try:
                self._from = max(counted() + 1 - step, 0)
            except Exception as error:
                complaint.once("from which step the job goes on is not known", error)
        self._note(self._from + step)

    def _note(self, reached: int) -> None:
        if not self._is_mine or self._pid != getpid():
            return
        try:
            if self._memory is None:
                self._memory = self._make()
            if self._memory is not None:
                self._memory[:] = self._from.to_bytes(8, "little") + reached.to_bytes(8, "little")
        except Exception as error:
            self._is_mine = False
            complaint.once("how far the job is cannot be noted", error)

    def _make(self) -> mmap.mmap | None:
        if not files.claim(self._folder, "progress"):
            self._is_mine = False
            return None
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        number = os.open(os.path.join(self._folder, "progress"), flags, 0o600)
        try:
            os.ftruncate(number, SIZE)
            return mmap.mmap(number, SIZE)
        finally:
            os.close(number)
