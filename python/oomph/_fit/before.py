"""Everything as it was before the step."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from .buffers import Buffers
from .failures import Refusal, steadily
from .gradients import Gradients
from .modules import BATCH_STATISTICS, uses_batch_statistics
from .randomness import Randomness


class Before:
    """What a step may change, and how it was when the step began: random numbers, gradients, buffers, and the state of
    the objects in `keep`.

    A `GradScaler` needs no copy: a step only multiplies by its scale, and what changes it is refused inside a step.
    """

    def __init__(self, keep: Sequence[Any], accepted: Sequence[str]) -> None:
        self.gradients = Gradients()
        # A step with batch statistics is not repeated unless that is accepted: then it needs no copies either.
        passed_over = (lambda module: False) if BATCH_STATISTICS in accepted else uses_batch_statistics
        self._buffers = Buffers(passed_over)
        self._keep = [_Kept(each) for each in keep if not _is_scaler(each)]
        self._randomness: Randomness | None = None

    def add(self, modules: Iterable[Any], parameters: Iterable[Any]) -> None:
        """More modules and parameters; inside a step as they are now."""
        self._buffers.add(modules)
        self.gradients.add(parameters)

    def begin(self) -> None:
        """A step begins."""
        self._randomness = Randomness()
        self._buffers.begin()
        self.gradients.begin()
        for kept in self._keep:
            kept.begin()

    def restore(self) -> None:
        """Everything as it was; the gradients too."""
        self.gradients.restore()
        if not self._buffers.restore():
            name = self._buffers.surprise
            raise Refusal(f"the buffer {name!r} changed for the first time in this step and cannot be put back")
        if self._randomness is not None:
            self._randomness.restore()
        for kept in self._keep:
            kept.restore()

    def end(self) -> None:
        """The step is over."""
        self._buffers.end()
        self._randomness = None


def _is_scaler(value: Any) -> bool:
    return isinstance(value, torch.amp.GradScaler)


class _Kept:
    """One object of `keep`: it has `state_dict` and `load_state_dict`, or is a generator of PyTorch or NumPy."""

    def __init__(self, value: Any) -> None:
        known = isinstance(value, torch.Generator) or hasattr(value, "bit_generator")
        if not known and not (hasattr(value, "state_dict") and hasattr(value, "load_state_dict")):
            kind = type(value).__name__
            raise TypeError(f"keep=: a {kind} has no state_dict and load_state_dict; give it both, or leave it out")
        self._value = value
        self._state: Any = None

    def begin(self) -> None:
        value = self._value
        if isinstance(value, torch.Generator):
            self._state = value.get_state()
        elif hasattr(value, "bit_generator"):
            self._state = value.bit_generator.state
        else:
            self._state = steadily(lambda: copy.deepcopy(value.state_dict()))

    def restore(self) -> None:
        value, state = self._value, self._state
        if isinstance(value, torch.Generator):
            value.set_state(state)
        elif hasattr(value, "bit_generator"):
            value.bit_generator.state = state
        else:
            # Some keep what they are given.
            steadily(lambda: value.load_state_dict(copy.deepcopy(state)))
