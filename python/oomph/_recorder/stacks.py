"""When the allocator's events carry Python stacks.

A stack costs 1 to 4 microseconds, most of what recording costs: up to 6% of a step that is bound by the CPU. So they
are taken where they are needed: in the first steps, in every eighth after that (more seldom where a step asks for very
much), in all of them while memory is tight, and in evaluation, where no step comes. A program without optimizer steps
has stacks throughout.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .clock import now
from .cuda import own_recording

# How many of the allocator's events are kept, where nothing else is said.
RING = 300_000
FIRST = 4
EVERY = 8
# A step that asks more often than this is so seldom recorded with stacks that they cost as little as elsewhere.
MANY = 10_000
EVERY_OF_MANY = 64
# The share of its limit from which memory counts as tight.
TIGHT = 0.75


class Stacks:
    """Switches stacks on and off at the beginning of steps."""

    def __init__(self, torch: Any, ring: int, has_all: bool = False) -> None:
        self._torch = torch
        self._record = own_recording(torch, self._yield, self._return)
        self._ring = ring
        self._is_on = False
        # All of them, where every step may matter and none has to be fast.
        self._has_all = has_all
        self._retries = 0
        self._asked = 0
        self._is_ours = True
        self._is_wanted = False
        self.spans: list[tuple[int, int | None]] = []

    def begin(self) -> None:
        self._is_wanted = True
        self._set(True)

    def end(self) -> None:
        """Stops recording, of events as of stacks."""
        self._is_wanted = False
        if self._is_ours:
            self._set(False)
            self._record(None)

    def _yield(self) -> None:
        """The program records for itself: its options stay as it sets them."""
        self._is_ours = False

    def _return(self) -> None:
        """The program has done with its own recording, which PyTorch has dropped."""
        self._is_ours = True
        if self._is_on:
            self.spans[-1] = (self.spans[-1][0], now())
        self._is_on = False
        self._set(self._is_wanted)

    def _set(self, on: bool) -> None:
        if on == self._is_on or not self._is_ours:
            return
        before = now()
        # With context "all" a job that checkpoints its activations dies in backward.
        self._record("all", context="alloc" if on else None, stacks="python", max_entries=self._ring)
        self._is_on = on
        if on:
            self.spans.append((now(), None))
        else:
            self.spans[-1] = (self.spans[-1][0], before)

    def on(self) -> None:
        """Stacks from here to the next step."""
        self._set(True)

    @contextlib.contextmanager
    def all(self) -> Iterator[None]:
        """All of them in the block, whatever they cost."""
        had, self._has_all = self._has_all, True
        self.on()
        try:
            yield
        finally:
            self._has_all = had

    def at_step(self, step: int, device: int, limit: int) -> None:
        """A step begins. Its device and what that may hold decide whether memory is tight."""
        stats = self._torch._C._cuda_memoryStats(device)
        before, self._asked = self._asked, int(stats["allocation"]["all"]["allocated"])
        every = EVERY if self._asked - before < MANY else EVERY_OF_MANY
        self._set(self._has_all or step < FIRST or step % every == 0 or self._is_tight(stats, limit))

    def _is_tight(self, stats: dict[str, Any], limit: int) -> bool:
        had, self._retries = self._retries, stats["num_alloc_retries"]
        held: int = stats["reserved_bytes"]["all"]["current"]
        return held > TIGHT * limit or self._retries > had
