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

    def __init__(self) -> None:
        self._cpu = torch.get_rng_state()
        self._cuda: list[Any] = []
        if torch.cuda.is_initialized():
            self._cuda = [generator.get_state() for generator in torch.cuda.default_generators]
        self._python = generators.python().state()
        numpy = sys.modules.get("numpy.random")
        self._numpy: Any = generators.numpy(numpy).state() if numpy is not None else None

    def restore(self) -> None:
        """The next numbers are those that followed when this was made."""
        torch.set_rng_state(self._cpu)
        for device, state in enumerate(self._cuda):
            torch.cuda.set_rng_state(state, device)
        random.setstate(self._python)
        if self._numpy is not None:
            sys.modules["numpy.random"].set_state(self._numpy)
