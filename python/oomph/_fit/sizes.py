"""What fitted so far, and what to try next."""

from __future__ import annotations

import math
from typing import Any

# After so many good steps a larger part is tried. A failed try costs a repeated step, so the next is made later.
_PATIENCE = 16
_LONGEST_PATIENCE = 4096

Shape = tuple[tuple[Any, ...], ...]


class _Known:
    """What is known of one shape."""

    def __init__(self) -> None:
        # The most samples in one part that fitted, and the fewest that did not.
        self.fits = 0
        self.fails: int | None = None
        self.good_steps = 0
        self.patience = _PATIENCE
        self.is_trying = False


class Sizes:
    """How many samples fit at once, by the shape of a sample.

    A shape of which nothing is known takes what is known of smaller ones: what does not fit there does not fit here.
    """

    def __init__(self) -> None:
        self._known: dict[Shape, _Known] = {}

    @property
    def is_empty(self) -> bool:
        """Whether every batch has fitted so far: then there is nothing to know, and nothing to note."""
        return not self._known

    def parts(self, shape: Shape, size: int) -> int:
        """Into how many parts to cut a batch of this size."""
        known = self._known.get(shape)
        if known is None:
            most = self._most_by_smaller(shape)
            return 1 if most is None or size <= most else math.ceil(size / most)
        if known.fails is None or size <= known.fits:
            return 1
        now = math.ceil(size / max(known.fits, 1))
        known.is_trying = known.good_steps >= known.patience and now > 1
        if not known.is_trying:
            return now
        # Half-way between what fits and what does not; where nothing lies between, what did not fit: memory may be
        # free by now.
        between = (known.fits + known.fails) // 2 if known.fails - known.fits > 1 else known.fails
        return max(1, min(now - 1, math.ceil(size / between)))

    def failed(self, shape: Shape, size: int, parts: int) -> int:
        """This many parts did not fit. Gives how many to try next: more than before, at most one for each sample."""
        known = self._known.setdefault(shape, _Known())
        largest = math.ceil(size / parts)
        known.fails = largest if known.fails is None or known.is_trying else min(known.fails, largest)
        if known.is_trying:
            known.is_trying = False
            known.patience = min(2 * known.patience, _LONGEST_PATIENCE)
        known.good_steps = 0
        if known.fits >= largest:
            known.fits = 0
        wanted = known.fits or (largest + 1) // 2
        return min(size, max(parts + 1, math.ceil(size / wanted)))

    def fitted(self, shape: Shape, size: int, parts: int) -> None:
        """This many parts fitted."""
        known = self._known.get(shape)
        if known is None:
            if parts == 1 and self.is_empty:
                return
            known = self._known[shape] = _Known()
            most = self._most_by_smaller(shape)
            known.fails = most + 1 if most is not None else None
        largest = math.ceil(size / parts)
        known.fits = max(known.fits, largest)
        if known.fails is not None and known.fits >= known.fails:
            known.fails = max(size, known.fits + 1) if parts > 1 else None
        if known.is_trying:
            known.patience = _PATIENCE
        known.good_steps = 0 if known.is_trying else known.good_steps + 1
        known.is_trying = False

    def _most_by_smaller(self, shape: Shape) -> int | None:
        """The most samples of this shape that may fit, by shapes that are smaller in every dimension."""
        most: int | None = None
        for other, known in self._known.items():
            if known.fails is not None and known.fits and _is_smaller(other, shape):
                scaled = max(1, known.fits * _volume(other) // max(1, _volume(shape)))
                most = scaled if most is None else min(most, scaled)
        return most


def _is_smaller(one: Shape, other: Shape) -> bool:
    """Whether each dimension of one is at most that of the other, and all else is the same."""
    if len(one) != len(other):
        return False
    return all(
        kind == other_kind and len(dims) == len(other_dims) and all(a <= b for a, b in zip(dims, other_dims))
        for (kind, dims), (other_kind, other_dims) in zip(one, other)
    )


def _volume(shape: Shape) -> int:
    return sum(math.prod(dims) for _, dims in shape)
