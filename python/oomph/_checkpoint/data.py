"""The place in the data: which epoch, which loop over the data in it, and how many batches of that are done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from oomph._oomph import OomphError

from . import loaders, randoms, say


class Data:
    """Follows the loops of a job, and leads a job that was resumed back to where it was."""

    def __init__(self) -> None:
        # The epoch that runs or is next; None in a job that does not count them.
        self.epoch: int | None = None
        self.is_in_epoch = False
        self.has_read = False
        # Loops over the data that were begun in this epoch, and batches of the one that runs.
        self._passes = 0
        self._batches = 0
        self._running: Any = None
        self._start: dict[str, Any] = {}
        # Where to go back to; the random numbers of that moment, and whether they are still to be set.
        self._back: dict[str, Any] | None = None
        self._randoms: dict[str, Any] = {}
        self._has_entered = True

    @property
    def is_in_loop(self) -> bool:
        return self._running is not None

    def state(self) -> dict[str, Any]:
        """The place now."""
        found: dict[str, Any] = {"epoch": self.epoch, "passes": self._passes, "batches": None}
        if self._running is not None:
            found["passes"] = self._passes - 1
            found["batches"] = self._batches
            found["start"] = self._start
            found["generators"] = _states(self._running)
        return found

    def load(self, state: dict[str, Any], now: dict[str, Any]) -> None:
        """Goes back to a place; `now` is the random numbers that go with it."""
        self._back = state
        self._randoms = now
        self._has_entered = False
        self.epoch = state["epoch"]

    def enter(self) -> None:
        """A loop of the job begins: random numbers drawn between loading and the first of them do not count."""
        if not self._has_entered:
            self._has_entered = True
            randoms.put(self._randoms)

    def begin_epoch(self, epoch: int) -> None:
        if self._back is not None and self._back["epoch"] != epoch:
            self._back = None
        self.epoch = epoch
        self.is_in_epoch = True
        self._passes = 0

    def end_epoch(self) -> None:
        self.epoch = (self.epoch or 0) + 1
        self.is_in_epoch = False
        self._passes = 0

    def batches(self, loader: Iterable[Any], replay: bool) -> Iterator[Any]:
        """The batches of one loop, from the place that was gone back to."""
        if self._running is not None:
            raise OomphError("saved.batches() runs already: end one loop over the data before the next begins")
        back = self._back
        if back is not None and back["passes"] > self._passes:
            self._passes += 1
            return
        self.enter()
        self._passes += 1
        self._running = loader
        self.has_read = True
        self._back = None
        try:
            if back is None or back["batches"] is None:
                self._batches = 0
                self._start = {
                    "randoms": randoms.take(with_gpus=False),
                    "generators": _states(loader),
                    "had_iterator": loaders.had_iterator(loader),
                }
                iterator = iter(loader)
            else:
                iterator = self._go_on(loader, back, replay)
            for batch in iterator:
                self._batches += 1
                yield batch
        finally:
            self._running = None

    def _go_on(self, loader: Any, back: dict[str, Any], replay: bool) -> Iterator[Any]:
        """The loop as it was begun, without the batches that are done; then the random numbers of the checkpoint."""
        count, self._batches, self._start = back["batches"], back["batches"], back["start"]
        start = self._start

        def as_begun() -> None:
            randoms.put(start["randoms"])
            _restore(loader, start["generators"])

        as_begun()
        workers = getattr(loader, "num_workers", 0)
        if loaders.can_skip(loader) and not (replay and workers):
            # New workers draw a seed, which those that persisted did not: the order comes from before that.
            iterator = loaders.begin_late(loader, count, as_begun if start["had_iterator"] else _nothing)
            if workers:
                say.line(
                    f"the {count} batches that are done are not loaded again; random numbers that the data set draws in its "
                    "workers begin anew (batches(loader, replay=True) loads them)"
                )
        else:
            iterator = iter(loader)
            loaders.drop(iterator, count)
        randoms.put(self._randoms)
        _restore(loader, back["generators"])
        return iterator


def _nothing() -> None:
    pass


def _states(loader: Any) -> list[Any]:
    return [generator.get_state() for generator in loaders.generators_of(loader)]


def _restore(loader: Any, states: list[Any]) -> None:
    for generator, state in zip(loaders.generators_of(loader), states):
        generator.set_state(state)
