"""Processes that the program started to help it: data loaders' workers."""

from __future__ import annotations

import signal
import sys
import threading
from typing import Any


def end() -> None:
    """Ends them at once. Left to themselves they find that the program is gone, and print tracebacks about it."""
    multiprocessing: Any = sys.modules.get("multiprocessing")
    children = multiprocessing.active_children() if multiprocessing is not None else []
    if not children:
        return
    if threading.current_thread() is threading.main_thread():
        # A loader would raise an error at the end of its workers.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # So would a thread that reads from them; nobody is left to hear of it.
    threading.excepthook = lambda _: None
    for child in children:
        child.kill()
