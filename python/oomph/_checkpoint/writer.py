"""The thread that brings a checkpoint to the disk while the loop goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Writer:
    """One write at a time. Python waits for the thread before it ends, so that the last checkpoint is finished."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    def start(self, work: Callable[[], None]) -> None:
        """Begins, once the last has ended. `work` says itself what fails."""
        self.wait()
        self._thread = threading.Thread(target=work, name="oomph-checkpoint", daemon=False)
        self._thread.start()

    def wait(self) -> None:
        """Returns when nothing is being written."""
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()
