"""The random numbers that a step will draw."""

from __future__ import annotations

import random
import sys
from typing import Any

import torch

from . import generators


class Randomness:
    """Where the generators stand: PyTorch's on the CPU and on every CUDA device that is in use, Python's, and NumPy's
    where it is imported."""

    __slots__ = ("_cpu", "_cuda", "_numpy", "_python")

    def __init__(self) -> None:
        self._cpu = torch.default_generator.get_state()
        self._cuda: list[Any] = []
        if torch.cuda.is_initialized():
            self._cuda = [_place(generator) for generator in torch.cuda.default_generators]
        self._python = generators.python().state()
        numpy = sys.modules.get("numpy.random")
        self._numpy: Any = generators.numpy(numpy).state() if numpy is not None else None

    def restore(self) -> None:
        """The next numbers are those that followed when this was made."""
        torch.set_rng_state(self._cpu)
        for generator, place in zip(torch.cuda.default_generators if self._cuda else (), self._cuda):
            _go_to(generator, place)
        random.setstate(self._python)
        if self._numpy is not None:
            sys.modules["numpy.random"].set_state(self._numpy)


def _place(generator: Any) -> Any:
    """Where a generator of a CUDA device stands. Its numbers are counted from a seed on, and these two are its state."""
    return generator.initial_seed(), generator.get_offset()


def _go_to(generator: Any, place: Any) -> None:
    seed, offset = place
    generator.manual_seed(seed)
    generator.set_offset(offset)
