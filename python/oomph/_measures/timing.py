"""How long a step takes on the real GPU."""

from __future__ import annotations

import time
from typing import Any


class Timing:
    """Times the steps after `first` up to `last`, at which the process has shown what it was started for. GPUs work while
    the program goes on, so both ends wait for them."""

    def __init__(self, first: int, last: int) -> None:
        self._first = first
        self._last = last
        self._began = 0.0
        self.step_us: int | None = None

    def at_step(self, torch: Any, step: int) -> bool:
        """The optimizer has made its `step`-th step; whether that was the last to be timed."""
        if step == self._first:
            torch.cuda.synchronize()
            self._began = time.monotonic()
        elif step >= self._last and self._began:
            torch.cuda.synchronize()
            self.step_us = round((time.monotonic() - self._began) * 1e6 / (step - self._first))
            return True
        return False
