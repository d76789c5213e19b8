"""`oomph.checkpoint(model, optimizer, …)`: a job that is killed goes on where it was."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from time import time_ns
from types import TracebackType
from typing import Any

from oomph._checkpoint import data, every as intervals, file, folder as folders, objects, randoms, ranks, run, say
from oomph._checkpoint.copies import Copies
from oomph._checkpoint.load import Loader
from oomph._checkpoint.tree import Encoder
from oomph._checkpoint.writer import Writer
from oomph._oomph import OomphError


class Checkpoint:
    """The checkpoints of a job. `steps_done` counts its steps, those of the runs before included; `extra` holds plain values
    of the job's own, which are saved and loaded with the rest."""

    def __init__(
        self, values: tuple[Any, ...], every: intervals.Wish, keep: int, folder: str, extra: dict[str, Any], resume: bool
    ) -> None:
        if not isinstance(keep, int) or keep < 1:
            raise OomphError(f"keep={keep!r} keeps nothing: write a whole number from 1 on")
        self.extra = extra
        self.steps_done = 0
        self._every = intervals.Every(every)
        self._keep = keep
        self._held, self._loaders = objects.hold(values)
        Encoder().encode(extra, "extra")
        self._job = objects.job_of(self._held)
        self._data = data.Data()
        self._ranks = ranks.Ranks()
        self._folder = folders.Folder(folder, self._ranks.rank)
        self._copies = Copies()
        self._writer = Writer()
        self._is_due_later = False
        # The step of the last checkpoint, and its number.
        self._last_step: int | None = None
        loader = Loader(self._folder, self._ranks, self._job)
        self._number = loader.number
        self._load(loader, resume)
        self._every.begin(self.steps_done)

    @property
    def epoch(self) -> int:
        """The epoch that runs, or that is next."""
        return self._data.epoch or 0

    def steps(self, count: int) -> Iterator[int]:
        """The numbers of the steps up to `count`, from the first that is not done. The step ends with the loop's body."""
        self._data.enter()
        while self.steps_done < count:
            step = self.steps_done
            yield step
            if self.steps_done == step:
                self.step()
        self._finish()

    def epochs(self, count: int) -> Iterator[int]:
        """The numbers of the epochs up to `count`, from the one that is not done."""
        self._data.enter()
        for epoch in range(self.epoch, count):
            self._data.begin_epoch(epoch)
            try:
                yield epoch
            finally:
                self._data.is_in_epoch = False
            self._data.end_epoch()
            if self._is_due_later:
                self.save()
        self._finish()

    def batches(self, loader: Iterable[Any] | None = None, replay: bool = False) -> Iterator[Any]:
        """The batches of a loader, or of the one that was handed over; after a resume without those that are done, in the
        same order. A `DataLoader` passes over them by their indices; anything else is read and dropped. With `replay` a
        `DataLoader` with workers reads them too, so that the workers draw the same random numbers."""
        if loader is None:
            if len(self._loaders) != 1:
                raise OomphError(f"{len(self._loaders)} data loaders were handed over: name the one to read, batches(loader)")
            loader = self._loaders[0]
        return self._data.batches(loader, replay)

    def step(self) -> None:
        """A step is done: call it last in the loop's body, after the optimizer and the schedule. Saves if that is due.
        Gradients are not saved."""
        self.steps_done += 1
        run.note_step(self.steps_done)
        is_due = self._every.is_due_by_steps(self.steps_done)
        if self._every.seconds is not None:
            is_due |= self._ranks.first_says(self._every.is_due_by_time())
        if is_due:
            self.save()

    def save(self) -> None:
        """Saves now. The state is copied; a thread writes it while the job goes on. In an epoch whose data is not read by
        `batches`, the checkpoint is made when the epoch ends: the place within it is not known."""
        if not self._folder.is_open:
            raise OomphError(f"{self._folder.shown} was closed, or a later oomph.checkpoint() has it: nothing is saved")
        if self._is_within_epoch():
            self._is_due_later = True
            say.once("the checkpoint that is due waits for the end of the epoch: read the data by saved.batches(loader)")
            return
        self._is_due_later = False
        if self._loaders and not self._data.has_read:
            say.once("the place in the data is not saved: the loader is not read by saved.batches(loader)")
        self._writer.wait()
        self._number += 1
        facts = {
            "step": self.steps_done,
            "number": self._number,
            "time_us": time_ns() // 1000,
            "rank": self._ranks.rank,
            "world": self._ranks.world,
            "job": self._job,
        }
        self._last_step = self.steps_done
        self._every.begin(self.steps_done)
        name = folders.name_of(self._number, self.steps_done, self._ranks.rank, self._ranks.world)
        try:
            encoder = Encoder()
            tree = encoder.encode(self._state(), "the state")
            parts = self._copies.take(encoder.leaves)
        except Exception as error:
            # No memory for the copy, or state that cannot be saved.
            self._complain(name, error)
            return
        self._writer.start(lambda: self._write(name, facts, tree, parts))

    def wait(self) -> None:
        """Returns when the last checkpoint is on the disk."""
        self._writer.wait()

    def close(self) -> None:
        """Waits for the last checkpoint; another job may use the folder from here on."""
        self._writer.wait()
        self._folder.close()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<checkpoints in {self._folder.shown}, {self.steps_done} steps done>"

    def _is_within_epoch(self) -> bool:
        return self._data.is_in_epoch and not self._data.is_in_loop

    def _finish(self) -> None:
        """The loop has ended by itself: what was done since the last checkpoint is saved."""
        if self._last_step != self.steps_done and self._folder.is_open:
            self.save()

    def _state(self) -> dict[str, Any]:
        is_first = self._ranks.rank == 0
        return {
            "objects": [one.take() if is_first or not one.is_shared else None for one in self._held],
            "extra": self.extra,
            "randoms": randoms.take(),
            "data": self._data.state(),
        }

    def _complain(self, name: str, error: Exception) -> None:
        shown = self._folder.show(name)
        say.line(f"{shown} is not saved ({say.reason(error)}): the job goes on, and the checkpoint before it stays")

    def _write(self, name: str, facts: dict[str, Any], tree: Any, parts: list[Any]) -> None:
        """On the thread."""
        try:
            self._copies.wait()
            file.write(self._folder.join(name), self._folder.beside(name), facts, tree, parts)
        except Exception as error:
            self._complain(name, error)
            return
        try:
            self._folder.prune(self._keep, self._is_ours)
        except OSError as error:
            say.once(f"old checkpoints in {self._folder.shown} are not removed ({say.reason(error)})")

    def _is_ours(self, path: str) -> bool:
        try:
            return bool(file.read_facts(path).get("job") == self._job)
        except file.Damaged:
            return False

    def _load(self, loader: Loader, resume: bool) -> None:
        since = run.resumed_since()
        if not resume and since is None:
            return
        # A job that begins anew goes on from its own checkpoints alone, where `oomph run` has started it again.
        found = loader.newest(0 if resume else since or 0)
        if found is None:
            return
        for one, (shared, own) in zip(self._held, zip(found.shared["objects"], found.own["objects"])):
            try:
                one.put(shared if one.is_shared else own)
            except Exception as error:
                raise OomphError(
                    f"{found.shown}: the state of {one.called} cannot be loaded ({say.reason(error)}): name another folder=, or "
                    "pass resume=False"
                ) from error
        self.extra.update(found.own["extra"])
        self.steps_done = self._last_step = found.step
        randoms.put(found.own["randoms"])
        self._data.load(found.own["data"], found.own["randoms"])
        run.note_loaded(found.step)
        if self._ranks.rank == 0:
            say.line(f"going on after step {found.step}, from {found.shown}")


def checkpoint(
    *values: Any,
    every: intervals.Wish = "10min",
    keep: int = 2,
    folder: str | os.PathLike[str] = "checkpoints",
    extra: dict[str, Any] | None = None,
    resume: bool = True,
) -> Checkpoint:
    """Saves a job now and then, and goes on from the last good checkpoint.

        saved = oomph.checkpoint(model, optimizer, scheduler, scaler, loader, every="10min")
        for epoch in saved.epochs(10):
            for batch in saved.batches(loader):
                ...                                # one step
                saved.step()

        for step in saved.steps(100_000):          # a loop without a loader
            ...

    `values` are models, optimizers, schedules, scalers, and whatever else has `state_dict` and `load_state_dict`; random
    generators; data loaders. `extra` is a dict of plain values. `every` is a time ("10min"), a number of steps (500), or
    both ("10min, 500 steps"). The `keep` newest checkpoints stay in `folder`, which belongs to one job at a time.

    A checkpoint has all of that, the random numbers of Python, NumPy, the CPU and the GPUs, the place in the data and the
    number of steps. It is there as a whole or not at all, and loaded only if all its checksums are right: one that is
    damaged is passed over, with a line that says so, and the one before it is taken. The format is oomph's own; loading runs
    no code from the file. With `resume=False` the job begins anew, except where `oomph run --resume` has started it again.

    If a checkpoint cannot be written (the disk is full), a line says so, the job goes on, and the last one stays. In a job
    of several ranks (DDP) all call this after `init_process_group`, and step together.
    """
    if "torch" not in sys.modules:
        # The state of a model cannot be read back without it.
        import torch  # noqa: F401
    return Checkpoint(values, every, keep, os.fspath(folder), {} if extra is None else extra, resume)
