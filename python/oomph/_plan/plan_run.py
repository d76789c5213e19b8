"""One process under `oomph plan`: what is set up when PyTorch is imported, and when enough of it was seen."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from . import caught, evaluations, generation, hurry, network, phantom, tracebacks, workers
from .hurry import Hurry
from .modules import Modules
from .questions import Questions, Stack
from .saves import Saves
from .world import World

# After so many steps in which no peak has grown, another one would show nothing more.
QUIET_STEPS = 2
LEAST_STEPS = 3
# For programs whose memory never repeats.
LONGEST_S = 120.0
# The same where torch.compile is at work: its first step alone may take minutes.
LONGEST_COMPILED_S = 270.0

# Of engines that are tried, PyTorch times those whose workspace the card has room for, in the largest of these.
BENCHMARK = (
    "cudnn.benchmark tries engines in a workspace as large as the largest of them wants and the card has room for: without it "
    "less is held"
)
_PEAKS = ("requested_bytes.all.peak", "allocated_bytes.all.peak", "reserved_bytes.all.peak")


class PlanRun:
    """Sets the program up to run without a GPU. Once its peaks stand still the rest is done in a hurry, until `end` ends it."""

    def __init__(
        self,
        config: dict[str, Any],
        end: Callable[[], None],
        stack_of: Callable[[FrameType | None], Stack],
        now: Callable[[], int],
    ) -> None:
        self._steps = config.get("steps")
        self._is_whole = bool(config.get("to_the_end"))
        self._longest_s = config.get("seconds")
        self._end = end
        self._torch: Any = None
        self._compiler: Any = None
        self._remove_files: Callable[[], None] = lambda: None
        self._began = time.monotonic()
        self._peaks: tuple[int, ...] = ()
        self._quiet = 0
        self.questions = Questions(stack_of)
        self._saves = Saves(self.questions, is_told=self._is_whole)
        self._hurry = Hurry(self._end_of_hurry, stack_of, self._held)
        self._step = 0
        self.stopped: dict[str, Any] | None = None
        self.remarks: list[str] = []
        self.world = World(config.get("world"), self.remarks)
        self.modules = Modules(now)
        self.backward: Stack = []

    def before_torch(self) -> None:
        """What PyTorch reads from the environment as it is imported."""
        from . import compiler

        folder = os.environ.get("OOMPH_RUN")
        if folder:
            self._remove_files = compiler.set_up(folder)

    def at_torch(self, torch: Any) -> None:
        from .compiler import Compiler
        from .stage import Stage

        self._torch = torch
        tracebacks.clean()
        self.modules.at_torch(torch)
        self._compiler = Compiler(torch, Stage, self.remarks, self.modules.end)
        torch.cuda._lazy_call(self._at_cuda)
        self._watch_backward(torch)
        _trace_without_checks(torch)
        stage = Stage(self.questions)
        self.world.at_torch(torch, stage.shadows)
        self._saves.at_torch(torch, stage.hollow)
        if not self._is_whole:
            self._hurry.at_torch(torch)
        stage.__enter__()

    def watched(self) -> dict[str, Callable[[Any], None]]:
        """Modules that are waited for besides PyTorch."""
        from . import triton_kernels

        found = {"triton": triton_kernels.silence, **network.watched(), **generation.watched(), **self.world.watched()}
        return {**found, **self._saves.watched(), **evaluations.watched(self._hurry)}

    def _at_cuda(self) -> None:
        from . import refusals

        remark = refusals.unsupported(self._torch)
        if remark is not None:
            self.remarks.append(remark)

    def _watch_backward(self, torch: Any) -> None:
        """Gradients are computed on threads without Python lines: the stack that waits for them is noted."""
        import functools
        import threading

        original = torch.autograd.backward

        @functools.wraps(original)
        def backward(*args: Any, **kwargs: Any) -> Any:
            # Checkpoints compute gradients inside that, on such a thread.
            if threading.current_thread() is threading.main_thread():
                self.backward = self.questions.stack()
            return original(*args, **kwargs)

        torch.autograd.backward = backward

    def at_step(self, step: int) -> None:
        """The optimizer has made its `step`-th step."""
        if self._is_whole:
            return
        self._step = step
        peaks = self._peaks_now()
        self._quiet = self._quiet + 1 if peaks == self._peaks else 0
        self._peaks = peaks
        self._hurry.at_step(step, self._quiet)
        if self._hurry.is_on:
            return
        if self._steps is not None:
            if step >= self._steps:
                self.stop(step, "steps")
        elif step >= LEAST_STEPS and self._quiet >= QUIET_STEPS:
            self._hurry.begin(step, self._seconds_left())
            # Quiet steps are counted anew.
            self._peaks = ()
        elif time.monotonic() - self._began > self._longest():
            self.stop(step, "time")

    def _longest(self) -> float:
        if self._longest_s:
            return float(self._longest_s)
        return LONGEST_COMPILED_S if self._compiler.is_used else LONGEST_S

    def _seconds_left(self) -> float:
        """How long a hurry may last."""
        longest = hurry.LONGEST_COMPILED_S if self._compiler.is_used else hurry.LONGEST_S
        return max(min(longest, self._began + self._longest() - time.monotonic()), 0.1)

    def _peaks_now(self) -> tuple[int, ...]:
        stats = self._torch.cuda.memory_stats()
        return tuple(int(stats.get(name, 0)) for name in _PEAKS)

    def _held(self) -> tuple[int, int, int]:
        """What is in use, the most that was held, and how often memory was asked for."""
        stats = self._torch.cuda.memory_stats()
        names = ("allocated_bytes.all.current", _PEAKS[-1], "allocation.all.allocated")
        in_use, most, requests = (int(stats.get(name, 0)) for name in names)
        return in_use, most, requests

    def stop(self, step: int, why: str) -> None:
        """Ends the process as if the program had ended well. What it would do at its end (save a model, evaluate it)
        is not done."""
        self.stopped = {"step": step, "why": why}
        self._remove_files()
        self._saves.remove()
        workers.end()
        self._end()

    def _end_of_hurry(self) -> None:
        self.stop(self._step, "repeats")

    def at_exit(self) -> bool:
        """The interpreter ends; whether the process is to end as if all were well, whatever the program says."""
        self._hurry.at_exit()
        return self._hurry.is_on

    def notes(self) -> dict[str, Any]:
        """What the answer has to say about this run."""
        return {
            "stopped": self.stopped,
            "hurry": self._hurry.notes(),
            "seconds": round(time.monotonic() - self._began, 3),
            "backward": {"frames": self.backward} if self.backward else None,
            "saved": {"frames": self._saves.first} if self._saves.first else None,
            "asked": self.questions.rows(),
            "remarks": list(dict.fromkeys([*self.remarks, *phantom.remarks(), *self._benchmark(), *caught.remarks()])),
            "world": self.world.notes(),
            "wanted": network.wanted(getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)),
            "pinned": self._pinned(),
            "doubts": phantom.doubts(),
            "padded": 0 if self._compiler is None else self._compiler.doubted,
        }

    def _benchmark(self) -> list[str]:
        cudnn = getattr(getattr(self._torch, "backends", None), "cudnn", None)
        return [BENCHMARK] if getattr(cudnn, "benchmark", False) else []

    def _pinned(self) -> int | None:
        """The most of the host's memory that PyTorch had pinned; None where its version does not tell."""
        stats = getattr(getattr(self._torch, "cuda", None), "host_memory_stats", None)
        found = None if stats is None else stats().get("allocated_bytes.peak")
        return None if found is None else int(found)


def _trace_without_checks(torch: Any) -> None:
    """Traces are not run again to be compared: what was invented may be something else the second time."""
    import functools

    for name in ("trace", "trace_module"):
        original = getattr(torch.jit, name)

        def unchecked(*args: Any, original: Any = original, **kwargs: Any) -> Any:
            return original(*args, **{**kwargs, "check_trace": False})

        setattr(torch.jit, name, functools.wraps(original)(unchecked))
