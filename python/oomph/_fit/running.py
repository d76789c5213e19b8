"""What runs in this thread now: one part of a step."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any


class _Local(threading.local):
    part: Part | None = None


_local = _Local()

# What the gradient of a backward call is multiplied by, given how many calls there were before it in this part.
Weigh = Callable[[int], float]


class Part:
    """A part of a step; inside `with part:` it runs in this thread."""

    __slots__ = ("weigh", "is_first", "drop", "measures", "losses", "backwards", "is_inside_backward")

    def __init__(
        self,
        weigh: Weigh | None = None,
        is_first: bool = True,
        drop: Callable[[Iterable[Any]], None] | None = None,
        measures: bool = False,
    ) -> None:
        # None: backward is left as it is.
        self.weigh = weigh
        self.is_first = is_first
        # Told whose gradients the step sets to zero.
        self.drop = drop
        # Backward calls are not run, their losses are noted.
        self.measures = measures
        self.losses: list[Any] = []
        self.backwards = 0
        # A backward call inside another one (reentrant checkpointing) gets a gradient that has its weight already.
        self.is_inside_backward = False

    def __enter__(self) -> Part:
        _local.part = self
        return self

    def __exit__(self, *_: object) -> None:
        _local.part = None


def now() -> Part | None:
    """The part that runs in this thread."""
    return _local.part
