"""The rest of a script, once its training shows nothing new: each loop over a DataLoader is cut to a few batches, and a loop
that makes steps without one is left.

So what comes after the loop is seen too: an evaluation, another phase, what is done at the end. A loop over a DataLoader that
keeps more memory with each batch is not cut as long as there is time, for its last batch is the one that needs most. Other
loops are gone through for a while first: short ones to their end.
"""

from __future__ import annotations

import _thread
import functools
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any

from .questions import Stack
from .sources import Sources
from .ways_out import Way, WaysOut

# Batches of a loop that is seen for the first time: from the second to the third it shows what it keeps of each.
FIRST_BATCHES = 3
# How long it lasts, and with torch.compile, which may compile an evaluation anew.
LONGEST_S = 10.0
LONGEST_COMPILED_S = 30.0
# The most that is asked of the allocator meanwhile: all of it is recorded, written and read.
MOST_REQUESTS = 150_000
# How often time and requests are looked at.
LOOK_S = 0.25
# From then on, loops that train get no batch at all: there may be a thousand epochs. Later the others neither, for a mean
# over nothing may end the script.
EMPTY_AFTER_S = 3.0
ALL_EMPTY_AFTER_S = 6.0
EMPTY_AFTER_ROUNDS = 2
# How long one loop that keeps more with each batch is followed.
GROWING_S = 4.0
# What a loop would keep of all its batches matters from this part of the peak on.
MATTERS = 100
# Batches of a loop whose number nobody knows.
UNKNOWN_LENGTH = 1_000
# A program that asks for empty loops so often waits for batches, not for the end of its epochs.
MOST_EMPTY = 5_000
# So many steps without a batch: the loop has other sources.
STEPS_WITHOUT = 3
# Such loops go on for so many steps in which no peak grows; once they have taken so long together, for so few.
STILL_STEPS = 32
PLAIN_S = 2.0
STILL_STEPS_THEN = 2


# What a loop is known by. Its DataLoader and dataset may be made anew in each epoch.
Key = tuple[Any, ...]
# Lines that lead to a loop: its own, and those of a library that goes through it for the program.
LINES = 4


class _Loop:
    """One pass over a DataLoader."""

    def __init__(self, key: Key, most: int, length: int | None) -> None:
        self.key = key
        self.most = most
        self.length = length
        self.began = time.monotonic()
        self.held: int | None = None
        # What the last batch kept, and what is known to be kept of each that is still to come.
        self.growth = 0
        self.kept = 0
        self.left = 0
        self.given = 0

    def rest(self) -> int:
        """What the batches that are still to come would keep."""
        return self.kept * self.left


class Hurry:
    """Cuts loops from `begin` on. `end` is called where the script cannot be followed to its own end; it may be called
    again."""

    def __init__(
        self, end: Callable[[], None], stack_of: Callable[[FrameType | None], Stack], held: Callable[[], tuple[int, int, int]]
    ) -> None:
        self._end = end
        self._stack_of = stack_of
        # What is in use, the most that was held, and how often memory was asked for.
        self._held = held
        self.is_on = False
        # Batches that DataLoaders gave.
        self.draws = 0
        self._step = 0
        self._began = 0.0
        self._deadline = 0.0
        self._most_requests = 0
        # How often each loop was gone through, and those whose batches made steps.
        self._rounds: dict[Key, int] = {}
        self._trains: set[Key] = set()
        # The last one that was asked for a batch.
        self._under_way = _Loop((), 0, None)
        self._is_under_way: Callable[[], Any] = lambda: None
        self._empty = 0
        self._steps_without = 0
        self._draws_at_step = 0
        # The last step, and how many were made since a loop was left.
        self._last = 0
        self._steps_since_left = 0
        # Whether a loop over a DataLoader was cut, and after which step another one was left first.
        self._is_cut = False
        self._left: int | None = None
        self._note: dict[str, Any] = {}
        self._sources = Sources()
        self._ways_out = WaysOut(self._sources)
        self._growing: dict[str, Any] | None = None

    def at_torch(self, torch: Any) -> None:
        from torch.utils.data import dataloader

        self._watch_iterators(dataloader._BaseDataLoaderIter)
        self._watch_loaders(dataloader.DataLoader)
        try:
            # Early: Lightning puts back the handlers that it found when its trainer began.
            if signal.getsignal(signal.SIGALRM) is signal.SIG_DFL:
                signal.signal(signal.SIGALRM, self._at_alarm)
        except ValueError:
            # PyTorch is imported in another thread than the main one: steps and batches look at the clock.
            pass

    def begin(self, step: int, seconds: float) -> None:
        """The peaks stand still after this step; the rest may take so long."""
        self.is_on = True
        self._step = step
        self._began = time.monotonic()
        self._deadline = self._began + seconds
        self._most_requests = self._held()[2] + MOST_REQUESTS
        self._draws_at_step = self.draws
        sys.excepthook = self._at_exception
        threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self) -> None:
        """Has the main thread look at the clock now and then. No timer does: its signal would end a process that has
        taken the handler away."""
        while not self._note:
            time.sleep(LOOK_S)
            if signal.getsignal(signal.SIGALRM) == self._at_alarm:
                _thread.interrupt_main(signal.SIGALRM)

    def at_step(self, step: int, quiet: int) -> None:
        """The `step`-th step was made; no peak has grown in so many."""
        self._trains.add(self._under_way.key)
        self._last = step
        if not self.is_on:
            return
        self._steps_without = self._steps_without + 1 if self.draws == self._draws_at_step else 0
        self._draws_at_step = self.draws
        self._steps_since_left += 1
        if min(self._steps_without, self._steps_since_left) >= STEPS_WITHOUT:
            is_late = time.monotonic() - self._began > PLAIN_S
            if quiet >= (STILL_STEPS_THEN if is_late else STILL_STEPS):
                self._leave_loop()
        self._look_at_clock()

    def _leave_loop(self) -> None:
        self._steps_since_left = 0
        way = self._ways_out.leave(sys._getframe(1))
        if way is not Way.NONE:
            self._left = self._left or self._last
        if way is not Way.LEFT:
            self.finish("end" if way is Way.END else "stays")

    def finish(self, word: str, error: BaseException | None = None, stack: Stack | None = None) -> None:
        """Ends the process: the script was seen up to here."""
        if error is not None:
            stack = _lines_of(error.__traceback__)
            # It is no failure, so nobody is to find it.
            for name in ("last_exc", "last_type", "last_value", "last_traceback"):
                vars(sys).pop(name, None)
        self._note = self._note or {
            "end": word,
            "error": None if error is None else _text_of(error),
            "frames": self._stack_of(sys._getframe(1)) if stack is None else stack,
        }
        self._end()

    def at_exit(self) -> None:
        """The interpreter ends, and with it the script, unless somebody else has shown an error."""
        if self.is_on and not self._note:
            error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
            if isinstance(error, BaseException):
                self.finish("error", error)
            self._note = {"end": "end"}

    def notes(self) -> dict[str, Any] | None:
        """How far the script was seen; None where nothing was cut."""
        if not self.is_on:
            return None
        cut = {"step": self._step if self._is_cut else None, "left": self._left, "growing": self._growing}
        return {**cut, "last": self._last, **self._note}

    def _at_exception(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, Exception):
            self.finish("error", error)
        sys.__excepthook__(kind, error, trace)

    def _at_alarm(self, number: int, frame: FrameType | None) -> None:
        if not self.is_on:
            # The program's own alarm, for which it has no handler.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        # Comes again: a recording may be under way.
        self._look_at_clock(frame)

    def _look_at_clock(self, frame: FrameType | None = None) -> None:
        if time.monotonic() > self._deadline or self._held()[2] > self._most_requests:
            stack = self._stack_of(frame or sys._getframe(1))
            if self._is_under_way() is not None and self._under_way.rest() > 0:
                self._note_growth(self._under_way, stack)
            self.finish("time", stack=stack)

    def _watch_iterators(self, kind: Any) -> None:
        original = kind.__next__

        @functools.wraps(original)
        def following(iterator: Any) -> Any:
            __tracebackhide__ = True
            self.draws += 1
            if self.is_on and self._has_given_enough(iterator) and not self._sources.ends_in_an_error(sys._getframe(1)):
                if not getattr(iterator, "_persistent_workers", False) and hasattr(iterator, "_shutdown_workers"):
                    iterator._shutdown_workers()
                raise StopIteration
            try:
                return original(iterator)
            except StopIteration:
                self._under_way.left = 0
                raise

        kind.__next__ = following

    def _has_given_enough(self, iterator: Any) -> bool:
        self._look_at_clock()
        loop: _Loop | None = getattr(iterator, "_oomph_loop", None)
        if loop is None:
            loop = iterator._oomph_loop = _Loop((), FIRST_BATCHES, _length(iterator))
        self._under_way = loop
        # A program that leaves a loop early lets go of it.
        self._is_under_way = weakref.ref(iterator)
        held, most, requests = self._held()
        growth, loop.held = held - (held if loop.held is None else loop.held), held
        given = loop.given = int(iterator._num_yielded)
        if given < loop.most:
            return False
        length = UNKNOWN_LENGTH if loop.length is None else loop.length
        loop.left = max(length - given, 0)
        # The least of two batches: what one alone needs more is not kept.
        loop.kept = max(min(growth, loop.growth) if given > FIRST_BATCHES else growth, 0)
        loop.growth = growth
        if given < FIRST_BATCHES or loop.kept * length * MATTERS < most:
            loop.kept = 0
        if loop.rest() == 0:
            self._is_cut = self._is_cut or loop.left > 0
            return True
        if time.monotonic() - loop.began < GROWING_S and requests < self._most_requests - MOST_REQUESTS // 2:
            return False
        self._note_growth(loop, self._stack_of(sys._getframe(2)))
        self._is_cut = True
        return True

    def _note_growth(self, loop: _Loop, stack: Stack) -> None:
        """A loop that keeps more with each batch was not seen whole; the one that would keep most is told."""
        if self._growing is None or loop.rest() > self._growing["bytes"] * self._growing["left"]:
            self._growing = {"bytes": loop.kept, "left": loop.left, "given": loop.given, "frames": stack}

    def _watch_loaders(self, kind: Any) -> None:
        original = kind.__iter__

        @functools.wraps(original)
        def begin(loader: Any) -> Any:
            __tracebackhide__ = True
            if not self.is_on:
                return original(loader)
            self._look_at_clock()
            key = _key(loader, sys._getframe(1))
            rounds = self._rounds[key] = self._rounds.get(key, 0) + 1
            after = EMPTY_AFTER_S if key in self._trains else ALL_EMPTY_AFTER_S
            if rounds > EMPTY_AFTER_ROUNDS and time.monotonic() - self._began > after:
                self._is_cut = True
                self._empty += 1
                if self._empty > MOST_EMPTY:
                    self.finish("waits")
                return _no_batches()
            iterator = original(loader)
            iterator._oomph_loop = _Loop(key, FIRST_BATCHES if rounds == 1 else 1, _length(iterator))
            return iterator

        kind.__iter__ = begin


def _no_batches() -> Iterator[Any]:
    yield from ()


def _key(loader: Any, frame: FrameType | None) -> Key:
    lines: list[Any] = []
    while frame is not None and len(lines) < LINES:
        lines.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return type(loader.dataset), getattr(loader, "batch_size", None), *lines


def _length(iterator: Any) -> int | None:
    try:
        return len(iterator)
    except TypeError:
        return None


def _text_of(error: BaseException) -> str:
    try:
        text = str(error).strip().splitlines()
    except Exception:
        text = []
    return ": ".join([type(error).__name__, *text[:1]])


def _lines_of(trace: TracebackType | None) -> Stack:
    """The lines of a traceback, innermost first."""
    found: Stack = []
    while trace is not None:
        code = trace.tb_frame.f_code
        found.append({"filename": code.co_filename, "line": trace.tb_lineno, "name": code.co_name})
        trace = trace.tb_next
    return found[::-1]
