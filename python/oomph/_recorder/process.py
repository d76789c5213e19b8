"""One process under `oomph run`: when it is recorded, under which name, and when that is written."""

from __future__ import annotations

import atexit
import os
import signal
import sys

# The function itself: a program may replace the module's.
from os import getpid
from types import FrameType, ModuleType
from typing import Any

from . import complaint, environment, exceptions, files, imports
from .clock import Sparing, now
from .progress import Progress
from .pulse import Pulse
from .recorder import Recorder
from .stacks import RING


# What is too long for the summary.
ONLY_RECORDED = ("classes", "modules")
# The longest run.json: it holds a command line.
LONGEST_CONFIG = 16 << 20


class Process:
    """The recorder of this process, tied to its run folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.pid = getpid()
        self.config = files.read_json(os.path.join(folder, "run.json"), LONGEST_CONFIG)
        self.recorder = Recorder(
            ring=int(self.config.get("ring") or RING),
            version=str(self.config.get("oomph") or ""),
            limit=self.config.get("limit"),
            card=self.config.get("gpu_total"),
            on_oom=self.flush_oom,
            on_beat=self.beat,
            on_cuda=self.at_cuda,
            on_step=self.at_step,
            has_all_stacks=self.config.get("plan") is not None,
        )
        self.measures: Any = self.make("measures", "Measures")
        self.plan_run: Any = self.make("plan", "PlanRun", self.end_of_plan, exceptions.frames, now)
        if self.plan_run is not None:
            self.recorder.owners = self.plan_run.modules.owners
        if self.measures is not None:
            # A plan runs on a GPU that computes nothing.
            self.measures.is_real = self.plan_run is None
        resume = self.config.get("resume")
        self.progress = Progress(folder, resume) if resume is not None else None
        self.name: str | None = None
        self.has_pulse = False
        self.is_flushing = False
        self.sparing = Sparing()
        # What the recording on disk was written for.
        self.holds: str | None = None
        self.is_direct = os.environ.get("OOMPH_PARENT") == str(os.getppid())

    def make(self, package: str, name: str, *args: Any) -> Any:
        """What a package beside this one, named alike, does in this process, where run.json asks for it; else None."""
        config = self.config.get(package)
        if config is None:
            return None
        from importlib import import_module

        beside = import_module(f"{(__package__ or '').removesuffix('recorder')}{package}")
        return getattr(beside, name)(config, *args)

    def claim(self) -> str:
        """The name of this process's recording: its rank, `main` for what `oomph run` itself started, else its pid."""
        if self.name is None:
            rank = os.environ.get("RANK", "")
            wanted = f"rank{rank}" if rank.isdigit() else "main" if self.is_direct else f"pid{self.pid}"
            # Workers inherit the rank of the process that started them, and a rank may be started again.
            self.name = wanted if files.claim(self.folder, wanted) else f"{wanted}-pid{self.pid}"
        return self.name

    def is_worth_writing(self) -> bool:
        """Whether this process has, or may have, something to say; a data loader's worker has not."""
        has_its_own = self.recorder.is_recording or self.recorder.framework in ("jax", "tensorflow")
        return self.name is not None or self.is_direct or has_its_own

    def flush(self, why: str) -> None:
        """Writes the recording and its summary. Never raises, and does nothing where it is under way already."""
        if self.is_flushing or self.pid != getpid():
            return
        self.is_flushing = True
        try:
            name = self.claim()
            path = os.path.join(self.folder, name)
            snapshot, sidecar = self.recorder.take(why, name, os.path.basename(self.folder))
            if self.plan_run is not None:
                sidecar["plan"] = self.plan_run.notes()
                sidecar["modules"] = self.plan_run.modules.notes()
            if self.measures is not None:
                sidecar["measures"] = self.measures.notes()
            files.write_pickle(f"{path}.pickle", {**snapshot, "oomph": sidecar})
            files.write_json(f"{path}.json", {k: v for k, v in sidecar.items() if k not in ONLY_RECORDED})
            self.holds = why
        except Exception as error:
            complaint.once("cannot write the recording", error)
        finally:
            self.is_flushing = False

    def end_of_plan(self) -> None:
        """Enough was seen for a plan. Where a recording is being written it is asked again."""
        if self.is_flushing:
            return
        self.flush("exit")
        end_as_if_done()

    def flush_oom(self) -> None:
        """After an out-of-memory error, which the program may catch and run into again."""
        self.sparing.run(lambda: self.flush("oom"))

    def beat(self) -> None:
        """Writes the summary alone: what remains of a process that is killed outright."""
        if self.is_flushing or self.pid != getpid():
            return
        self.is_flushing = True
        try:
            name = self.claim()
            sidecar = self.recorder.sidecar("beat", name, os.path.basename(self.folder), is_brief=True)
            files.write_json(os.path.join(self.folder, f"{name}.json"), sidecar)
        except Exception as error:
            complaint.once("cannot write the summary", error)
        finally:
            self.is_flushing = False

    def at_cuda(self) -> None:
        """The first use of CUDA: this process is worth a recording, whatever becomes of it."""
        if not self.has_pulse:
            self.has_pulse = True
            self.recorder.beat_into(Pulse(os.path.join(self.folder, f"{self.claim()}.pulse")))
        if "multiprocessing.util" in sys.modules:
            # A forked worker ends without atexit; multiprocessing runs its own finalizers.
            from multiprocessing import parent_process, util

            if parent_process() is not None:
                util.Finalize(None, self.at_exit, exitpriority=100)

    def at_exit(self) -> None:
        if self.pid != getpid():
            return
        if self.recorder.has_missed_torch():
            complaint.once("the GPU is not recorded", "the program changed how modules are imported before it imported torch")
        ends_well = self.plan_run is not None and self.plan_run.at_exit()
        if self.is_worth_writing():
            if self.holds == "oom" and not self.recorder.ended_in_oom():
                self.keep_oom()
            self.flush("exit")
        if ends_well:
            end_as_if_done()

    def keep_oom(self) -> None:
        """The program caught an out-of-memory error and went on: what was written then is kept beside what follows."""
        path = os.path.join(self.folder, self.claim())
        try:
            os.replace(f"{path}.pickle", f"{path}.oom.pickle")
        except OSError as error:
            complaint.once("the recording of the error is not kept", error)

    def at_signal(self, number: int, frame: FrameType | None) -> None:
        self.flush("dump")

    def take_signal(self) -> None:
        """SIGUSR1, by which `oomph dump` asks, where the program has no use of its own for it. No signal that ends a
        process is taken: Python runs handlers only between its own instructions, so a process that is in C code, such as
        a collective that hangs, would not end any more."""
        if signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL:
            try:
                signal.signal(signal.SIGUSR1, self.at_signal)
            except ValueError:
                # Not the main thread: somebody started us late.
                return

    def at_fork(self) -> None:
        """In the child of a fork: a process of its own, with nothing recorded yet."""
        self.pid = getpid()
        self.name = None
        self.has_pulse = False
        self.is_direct = False
        self.is_flushing = False
        self.sparing.forget()
        self.holds = None
        self.recorder.forget()

    def at_step(self, step: int) -> None:
        if self.progress is not None:
            self.progress.at_step(step)
        if self.pid != getpid():
            return
        if self.plan_run is not None:
            self.plan_run.at_step(step)
        elif self.measures is not None and self.measures.at_step(step):
            self.flush("exit")
            end_as_if_done()

    def before_torch(self) -> None:
        environment.drop_unknown_settings(self.config)
        if self.plan_run is not None:
            self.plan_run.before_torch()

    def at_torch(self, torch: ModuleType) -> None:
        self.recorder.watch_torch(torch)
        if self.measures is not None:
            self.measures.at_torch(torch)
        if self.plan_run is not None:
            self.plan_run.at_torch(torch)
        if self.is_direct or os.environ.get("RANK", "").isdigit():
            # Whole from the start: a process that is killed before its first step has a recording too.
            self.flush("start")


def end_as_if_done() -> None:
    """Ends this process as if the program had ended well. What it would do at its end is not done."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(0)


_process: Process | None = None


def begin(folder: str) -> None:
    """Records this process into `folder`, once."""
    global _process
    if _process is not None or getattr(sys, "_oomph_process", None) is not None:
        return
    process = _process = Process(folder)
    # The package and the copy that a run folder carries find each other here.
    setattr(sys, "_oomph_process", process)
    recorder = process.recorder

    def before_torch() -> None:
        recorder.use("torch")
        process.before_torch()

    def nothing(_: ModuleType) -> None:
        pass

    # Frameworks import each other: the one whose import begins first is the program's.
    imports.watch(
        {
            "torch": before_torch,
            "jax": lambda: recorder.use("jax"),
            "tensorflow": lambda: recorder.use("tensorflow"),
        },
        {
            "torch": process.at_torch,
            "jax": nothing,
            "tensorflow": nothing,
            **(process.measures.watched() if process.measures is not None else {}),
        },
    )
    if process.plan_run is not None:
        # Apart from the others: two may wait for the same module.
        imports.watch({}, process.plan_run.watched())
    if process.progress is not None and process.progress.since is not None:
        from . import resume

        resume.watch(process.progress)
    process.take_signal()
    atexit.register(process.at_exit)
    os.register_at_fork(after_in_child=process.at_fork)
