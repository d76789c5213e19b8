"""What is recorded of one process, and how a recording is put together. It writes nothing itself."""

from __future__ import annotations

import contextlib
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from os import getpid
from typing import Any

from . import cells, classes, complaint, cuda, exceptions, failures, frameworks, host, keepers, live, sources
from .clock import now
from .environment import VARIABLES
from .marks import Marks
from .pulse import Pulse
from .stacks import RING, Stacks

FORMAT = 1
# Marks that the brief summary keeps: enough to say where the program was.
BRIEF_MARKS = 64
BEAT_US = 2_000_000
# The step in which every class of memory is looked for: the second, when the optimizer's state is there.
FULL_LOOK = 1
# A program that caught an error has given up if its requests after it are fewer than one in so many of those before.
GAVE_UP = 20


def _nothing(*_: int) -> None:
    pass


def _rank(name: str) -> int | None:
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else None


class Recorder:
    """Records this process from its first use of CUDA; `take` gives the recording so far. One that `waits` records only
    between `resume` and `end`."""

    def __init__(
        self,
        ring: int = RING,
        version: str = "",
        limit: int | None = None,
        card: int | None = None,
        on_oom: Callable[[], None] = _nothing,
        on_beat: Callable[[], None] = _nothing,
        on_cuda: Callable[[], None] = _nothing,
        on_step: Callable[[int], None] = _nothing,
        has_all_stacks: bool = False,
        waits: bool = False,
    ) -> None:
        self._ring = ring
        self._version = version
        self._limits = cuda.Limits(limit, card)
        self._peaks = cuda.Peaks()
        # Called at each failure, before the allocator raises it.
        self.on_oom = [on_oom]
        self._on_beat = on_beat
        self._on_cuda = on_cuda
        self._on_step = on_step
        self._has_all_stacks = has_all_stacks
        self._is_wanted = not waits
        # Who has which parameter, where somebody tells modules apart.
        self.owners: Callable[[], classes.Owners] = dict
        self._torch: Any = None
        # What is asked of its CUDA.
        self._cuda: Any = None
        self.framework: str | None = None
        self.forget()

    def forget(self) -> None:
        """Begins anew. In a process that was forked, what its parent did does not count."""
        self.started_us = now()
        self.is_recording = False
        self.ooms: list[dict[str, Any]] = []
        self._first_look: list[classes.Entry] = []
        self._oom_look: list[classes.Entry] = []
        self._keepers: dict[str, Any] | None = None
        self._has_looked = True
        self._looks: deque[list[classes.Entry]] = deque(maxlen=classes.KEPT_LOOKS)
        self._samples: deque[tuple[int, int, int]] = deque(maxlen=2_000)
        self._beat_us = now()
        self._stacks: Stacks | None = None
        self._is_looking = True
        self._history = live.History()
        self._holdings = live.Holdings()
        if self._torch is None:
            self._marks = Marks(self._at_step, self._before_update, self._at_evaluation)
        else:
            # The hooks hold on to the marks.
            self._marks.list.clear()
            self._marks.step = 0
            self._marks.pulse = None

    def beat_into(self, pulse: Pulse) -> None:
        """From here on, marks are noted here as well."""
        self._marks.pulse = pulse

    def use(self, framework: str) -> None:
        """The program imports a framework; the first one is the one it is written for."""
        self.framework = self.framework or framework

    def watch_torch(self, torch: Any) -> None:
        """PyTorch has been imported: hooks are set, and recording begins with CUDA."""
        self._torch = torch
        self._cuda = cuda.as_imported(torch)
        self.use("torch")
        self._marks.watch(torch)
        self._peaks.watch(torch)
        cuda.when_initialized(torch, self._at_cuda)

    def _at_cuda(self) -> None:
        if self._is_wanted:
            self.begin()

    def has_missed_torch(self) -> bool:
        """Whether the program uses CUDA with a PyTorch whose import was not seen."""
        torch: Any = sys.modules.get("torch")
        try:
            return self._torch is None and torch is not None and torch.cuda.is_initialized() is True
        except Exception:
            # Something else of that name.
            return False

    def resume(self) -> None:
        """Records from here on, or from CUDA's first use."""
        self._is_wanted = True
        if self._torch is not None and self._cuda.is_initialized() and not self.is_recording:
            self.begin()

    def begin(self) -> None:
        """CUDA is there. Called inside its initialisation: whatever fails here must not fail that."""
        torch = self._torch
        try:
            self._limits.apply(torch)
            self._limits.follow(torch)
            if self._stacks is None:
                self._stacks = Stacks(torch, self._ring, self._has_all_stacks)
                torch._C._cuda_attach_out_of_memory_observer(self._at_oom)
            self._stacks.begin()
            self.is_recording = True
            self.framework = "torch"
            self._marks.begin()
            self._on_cuda()
        except Exception as error:
            complaint.once("the allocator's events are not recorded", error)

    def end(self) -> None:
        """Stops; `resume` begins anew. The hooks stay, and do nothing that costs."""
        self._is_wanted = False
        if self._stacks is not None and self.is_recording:
            self._stacks.end()
        self.is_recording = False

    @contextlib.contextmanager
    def every_stack(self) -> Iterator[None]:
        """Stacks of every request in the block, whatever they cost."""
        if self._stacks is None or not self.is_recording:
            yield
            return
        with self._stacks.all():
            yield

    def _at_step(self, step: int) -> None:
        try:
            if self._stacks is not None and self.is_recording:
                device = self._cuda.current_device()
                self._stacks.at_step(step, device, self._limits.of(self._torch, device))
                self._is_looking = self._stacks.spans[-1][1] is None
            moment = now()
            if moment - self._beat_us >= BEAT_US:
                self._beat_us = moment
                self._samples.append((moment, *host.rss()))
                self._on_beat()
        except Exception as error:
            complaint.once("a step is not recorded", error)
        self._on_step(step)

    def _at_evaluation(self) -> None:
        """The model was set to evaluation: no step will begin for a while."""
        try:
            if self._stacks is not None and self.is_recording:
                self._stacks.on()
                if self._marks.step == 0 and not self._first_look:
                    # Weights that are quantised or merged later are gone by the end.
                    with cuda.unseen(self._torch):
                        trained = classes.Trained.find(self._torch)
                        self._first_look = classes.every_class(self._torch, trained, [], self.owners())
        except Exception as error:
            complaint.once("evaluation is recorded without stacks", error)

    def _before_update(self, optimizer: Any) -> None:
        if self._is_looking and self.is_recording:
            try:
                with cuda.unseen(self._torch):
                    if self._marks.step == FULL_LOOK:
                        # All of the model and the optimizer is there, and lives on: at exit it may be gone.
                        trained = classes.Trained.find(self._torch)
                        self._first_look = classes.every_class(self._torch, trained, [], self.owners())
                        self._holdings.know(trained)
                    elif self._marks.step > FULL_LOOK and not self._holdings.knows(optimizer):
                        self._holdings.know(classes.Trained.find(self._torch))
                    self._looks.append(classes.gradients(optimizer, self.owners()))
            except Exception as error:
                complaint.once("gradients are not told apart", error)

    def _at_oom(self, device: int, requested: int, total: int, free: int) -> None:
        """The allocator is about to raise. Called on whichever thread asked for memory."""
        if not self.is_recording:
            return
        try:
            frames = exceptions.frames_of_request(sys._getframe().f_back)
            self._has_looked = False
            self.ooms.append(
                {
                    "time_us": now(),
                    "device": device,
                    "requested": requested,
                    "total": total,
                    "free": free,
                    "served": self._served(device),
                    "frames": cells.named(frames),
                    "code": exceptions.quoted(frames),
                    "grad": bool(self._torch.is_grad_enabled()),
                }
            )
            del self.ooms[:-100]
            for call in self.on_oom:
                call()
        except Exception as error:
            complaint.once("the error is not recorded", error)

    def _served(self, device: int) -> int:
        """How many requests the allocator has served on a device."""
        return int(self._cuda.memory_stats(device).get("allocation.all.allocated", 0))

    def ended_in_oom(self) -> bool:
        """Whether running out of memory is what the program ends with: nobody caught it, or whoever did gave up, and
        next to nothing was asked of the GPU since."""
        error = exceptions.last()
        if error is not None:
            return exceptions.may_be_out_of_memory(error)
        if not self.ooms:
            return False
        last = self.ooms[-1]
        steps_since = any(kind == "step" and time > last["time_us"] for time, kind, _ in self._marks.list)
        since = self._served(last["device"]) - last["served"]
        return not steps_since and since * GAVE_UP <= last["served"]

    def take(self, why: str, name: str, run: str, since: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
        """The allocator's snapshot, and beside it what a snapshot lacks. Failures from before `since` are left out."""
        snapshot: dict[str, Any] = {"segments": [], "device_traces": []}
        if self.is_recording:
            try:
                snapshot = dict(self._cuda.snapshot())
            except Exception as error:
                # PyTorch cannot name a file whose path is not UTF-8. All else is told.
                complaint.once("the allocator's events cannot be read", error)
        sidecar = self.sidecar(why, name, run)
        if since:
            sidecar["ooms"] = [oom for oom in self.ooms if oom["time_us"] >= since]
            failures.keep(snapshot, sidecar["ooms"])
        sidecar["cells"] = failures.name_cells(snapshot, sidecar["ooms"])
        sidecar["lines"] = sources.lines(snapshot)
        looks = self._first_look + self._oom_look + [entry for look in self._looks for entry in look]
        if self.is_recording:
            looks += self._look(why, snapshot["segments"])
        sidecar["classes"] = [classes.row(entry) for entry in looks]
        sidecar["keepers"] = self._keepers
        return snapshot, sidecar

    def look(self) -> None:
        """Looks who keeps storages alive, at a failure: what `take` gives later tells it."""
        if self.is_recording:
            self._look("oom", [])

    def _look(self, why: str, segments: list[dict[str, Any]]) -> list[classes.Entry]:
        """What storages are for; and, when memory ran out, who keeps them. The recording does without where it fails."""
        here: list[classes.Entry] = []
        try:
            with cuda.unseen(self._torch):
                alive = classes.Trained.find(self._torch)
                here = classes.every_class(self._torch, alive, segments, self.owners())
                if why == "oom" and not self._has_looked:
                    self._has_looked = True
                    # When the program ends, what it had when memory ran out may be gone.
                    self._oom_look = here
                    held = keepers.keepers(self._torch)
                    self._keepers = {"time_us": now(), **held, **classes.outlook(self._torch, alive)}
        except Exception as error:
            complaint.once("what the memory is for is not recorded", error)
        return here

    def sidecar(self, why: str, name: str, run: str, is_brief: bool = False) -> dict[str, Any]:
        """The recording's own key; brief: what a beat can afford."""
        written = now()
        error = exceptions.last()
        marks = list(self._marks.list)
        memory = host.memory()
        if not is_brief:
            self._samples.append((written, memory["rss"] or 0, memory["available"] or 0))
        versions, devices = frameworks.describe(
            self.framework, self._cuda if self.is_recording else None, self._peaks, is_brief
        )
        if is_brief:
            self._history.note(written, self._marks.step, devices)
        for device in devices:
            index = device["index"]
            device["limit"] = self._limits.in_force(index)
            device["history"] = self._history.of(index)
            if self.is_recording:
                device["by_class"] = self._holdings.by_class(self._torch, index, has_ended=is_brief)
        return {
            "format": FORMAT,
            "oomph": self._version,
            "run": run,
            "name": name,
            "pid": getpid(),
            "argv": list(getattr(sys, "orig_argv", sys.argv)),
            "rank": _rank("RANK"),
            "local_rank": _rank("LOCAL_RANK"),
            "world_size": _rank("WORLD_SIZE"),
            "started_us": self.started_us,
            "written_us": written,
            "why": why,
            "framework": self.framework,
            "versions": versions,
            "settings": {key: os.environ[key] for key in VARIABLES if key in os.environ},
            "devices": devices,
            "marks": [list(mark) for mark in (marks[-BRIEF_MARKS:] if is_brief else marks)],
            "stacks": [list(span) for span in (self._stacks.spans[-BRIEF_MARKS:] if self._stacks else [])],
            "host": {**memory, "samples": [list(sample) for sample in self._samples]},
            "ooms": self.ooms,
            "exception": None if error is None else exceptions.describe(error),
            "ended_in_oom": why == "exit" and self.ended_in_oom(),
        }
