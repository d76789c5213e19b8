"""Which matrix products torch.compile pads, so that their rows have 16 bytes or a multiple: it times both ways on the card, and
here nothing is computed.

What an H200 takes for either way is estimated by what it computes and moves, from 463 products that were measured on one by
`gpu/measure_padding.py`: in 95% of the large single ones the estimate decides as the card did. Of many small products at once
the launches of kernels decide, and two runs of one program differ.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

# Operations a millisecond: with rows that no pair of elements fills, with other odd ones, and padded; and TF32 beside half
# precision.
UNPAIRED, UNEVEN, EVEN = 114e9, 250e9, 811e9
TF32 = 0.8
# Bytes a millisecond that a product moves, as it is and padded.
MOVED, MOVED_PADDED = 2.75e9, 4.5e9
# Milliseconds a byte that is copied: into longer rows, turned first, and with more rows.
LONGER, TURNED, MORE = 2.7e-9, 3.5e-9, 0.6e-9
# Milliseconds that a product takes at least, padded, and more for each copy.
LEAST, LEAST_PADDED, LAUNCH = 0.02, 0.052, 0.006
# A padded product has to be quicker by this much; within a fifth of that nobody can tell.
MARGIN = 1.05
CLOSE = 1.2
# What many products at once move, from which on padding them was seen to be quicker, where nothing is copied for it and where
# it is; and how far from that it is known.
BATCHED = {2: (150e6, 150e6), 4: (210e6, math.inf)}
# In TF32, with rows of the result that are not even: these are slower to write.
UNEVEN_RESULT = 150e6
FAR = 2.5


def is_worth_padding(key: str) -> bool:
    """Whether a product is quicker padded. `key` has the sizes, strides and types of its matrices, and whose padding costs
    nothing."""
    product = _product(key)
    if product is None:
        return False
    if product.count > 1:
        return product.moved() > product.least_worth()
    plain, padded = product.times()
    return plain > MARGIN * padded


def is_sure(key: str) -> bool:
    """Whether a card decides so every time."""
    product = _product(key)
    if product is None:
        return True
    if product.count > 1:
        least = product.least_worth()
        return not least / FAR < product.moved() < least * FAR
    plain, padded = product.times()
    return not MARGIN / CLOSE < plain / padded < MARGIN * CLOSE


def padding(key: str) -> int:
    """The bytes of the larger of two matrices when it is padded, which is what a copy of it takes."""
    width = _width(key)
    padded = [size[:-2] + [_padded(side, 16 // width) for side in size[-2:]] for size in _numbers(r"Size\(\[([\d, ]+)\]\)", key)]
    return max((math.prod(size) * width for size in padded), default=0)


@dataclass
class _Matrix:
    """One of the two: its sides, that in memory last."""

    rows: int
    columns: int
    is_turned: bool
    is_free: bool


@dataclass
class _Product:
    """On tensor cores."""

    width: int
    count: int
    first: _Matrix
    second: _Matrix

    @property
    def is_unpaired(self) -> bool:
        """Whether no pair of elements fills the rows of one of the three."""
        return any(side % 2 for side in (self.first.rows, self.first.columns, self.second.columns))

    def _operations(self, pad: int) -> int:
        sides = (self.first.rows, self.first.columns, self.second.columns)
        return 2 * self.count * math.prod(_padded(side, pad) for side in sides)

    def moved(self) -> int:
        """Bytes that are read and written."""
        rows, inner, columns = self.first.rows, self.first.columns, self.second.columns
        return self.count * self.width * (rows * inner + inner * columns + rows * columns)

    def least_worth(self) -> float:
        """For many at once: what they have to move to be worth padding."""
        free, copied = BATCHED[self.width]
        if self.first.is_free and self.second.is_free:
            return UNEVEN_RESULT if self.width == 4 and self.second.columns % 4 else free
        return copied if self.is_unpaired else math.inf

    def times(self) -> tuple[float, float]:
        """Milliseconds as it is, and padded."""
        step = 16 // self.width
        speed = 1.0 if self.width == 2 else TF32
        plain = LEAST + max(self._operations(1) / (UNPAIRED if self.is_unpaired else UNEVEN) / speed, self.moved() / MOVED)
        copies = [self._copy(each, step) for each in (self.first, self.second) if not each.is_free]
        padded = max(self._operations(step) / EVEN / speed, self.moved() / MOVED_PADDED)
        return plain, padded + LEAST_PADDED + len(copies) * LAUNCH + sum(copies)

    def _copy(self, matrix: _Matrix, step: int) -> float:
        size = matrix.rows * matrix.columns * self.width
        last, other = (matrix.rows, matrix.columns) if matrix.is_turned else (matrix.columns, matrix.rows)
        if last % step:
            return size * LONGER
        if other % step:
            return size * (TURNED if matrix.is_turned else MORE)
        return 0.0


def _product(key: str) -> _Product | None:
    """What a key describes; `None` for what tensor cores do not compute, which is not padded."""
    sizes = _numbers(r"Size\(\[([\d, ]+)\]\)", key)
    strides = _numbers(r"\]\), \(([\d, ]+)\)", key)
    free = [word == "True" for word in re.findall(r"exclude_pad:(\w+)", key)]
    has_tensor_cores = "float16" in key or key.endswith("True)")
    if not has_tensor_cores or min(len(sizes), len(strides), len(free)) < 2 or any(len(size) < 2 for size in sizes):
        return None
    first, second = (
        _Matrix(size[-2], size[-1], is_turned=stride[-1] != 1, is_free=is_free)
        for size, stride, is_free in zip(sizes, strides, free)
    )
    return _Product(_width(key), math.prod(sizes[0][:-2]), first, second)


def _numbers(pattern: str, key: str) -> list[list[int]]:
    """Of both matrices."""
    return [[int(word) for word in found.split(",") if word.strip()] for found in re.findall(pattern, key)[:2]]


def _width(key: str) -> int:
    """Of an element, in bytes."""
    return 2 if "float16" in key else 4


def _padded(side: int, step: int) -> int:
    """The next multiple."""
    return side + -side % step
