"""One process under `oomph plan`: what is set up when PyTorch is imported, and when enough of it was seen."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from . import tracebacks
from .questions import Questions, Stack

# After so many steps in which no peak has grown, another one would show nothing more.
QUIET_STEPS = 2
LEAST_STEPS = 3
# For programs whose memory never repeats.
LONGEST_S = 120.0

_PEAKS = ("requested_bytes.all.peak", "allocated_bytes.all.peak", "reserved_bytes.all.peak")


class PlanRun:
    """Sets the program up to run without a GPU, and ends it by `end` once its peaks stand still."""

    def __init__(
        self, config: dict[str, Any], end: Callable[[], None], stack_of: Callable[[FrameType | None], Stack]
    ) -> None:
        self._steps = config.get("steps")
        self._is_whole = bool(config.get("to_the_end"))
        self._longest_s = float(config.get("seconds") or LONGEST_S)
        self._end = end
        self._torch: Any = None
        self._began = time.monotonic()
        self._peaks: tuple[int, ...] = ()
        self._quiet = 0
        self.questions = Questions(stack_of)
        self.stopped: dict[str, Any] | None = None
        self.remarks: list[str] = []
        self.backward: Stack = []

    def before_torch(self) -> None:
        """What PyTorch reads from the environment as it is imported."""
        # A compiled kernel cannot be run on the phantom.
        os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")

    def at_torch(self, torch: Any) -> None:
        from . import refusals
        from .stage import Stage

        self._torch = torch
        tracebacks.clean()
        refusals.watch(torch, self.remarks)
        torch.cuda._lazy_call(self._at_cuda)
        self._watch_backward(torch)
        Stage(self.questions).__enter__()

    def _at_cuda(self) -> None:
        from . import refusals

        remark = refusals.unsupported(self._torch)
        if remark is not None:
            self.remarks.append(remark)

    def _watch_backward(self, torch: Any) -> None:
        """Gradients are computed on threads without Python lines: the stack that waits for them is noted."""
        import functools

        original = torch.autograd.backward

        @functools.wraps(original)
        def backward(*args: Any, **kwargs: Any) -> Any:
            self.backward = self.questions.stack()
            return original(*args, **kwargs)

        torch.autograd.backward = backward

    def at_step(self, step: int) -> None:
        """The optimizer has made its `step`-th step."""
        if self._is_whole:
            return
        stats = self._torch.cuda.memory_stats()
        peaks = tuple(int(stats.get(name, 0)) for name in _PEAKS)
        self._quiet = self._quiet + 1 if peaks == self._peaks else 0
        self._peaks = peaks
        if self._steps is not None:
            if step >= self._steps:
                self.stop(step, "steps")
        elif step >= LEAST_STEPS and self._quiet >= QUIET_STEPS:
            self.stop(step, "repeats")
        elif time.monotonic() - self._began > self._longest_s:
            self.stop(step, "time")

    def stop(self, step: int, why: str) -> None:
        """Ends the process as if the program had ended well. What it would do at its end (save a model, evaluate it)
        is not done."""
        self.stopped = {"step": step, "why": why}
        self._end()

    def notes(self) -> dict[str, Any]:
        """What the answer has to say about this run."""
        return {
            "stopped": self.stopped,
            "seconds": round(time.monotonic() - self._began, 3),
            "backward": {"frames": self.backward} if self.backward else None,
            "asked": self.questions.rows(),
            "remarks": list(dict.fromkeys(self.remarks)),
        }
