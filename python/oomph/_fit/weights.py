"""What each part of a step weighs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .batch import Batch
from .counts import Count, named, possible
from .failures import Refusal, steadily
from .measure import Measurement
from .modules import Modules

# Weights closer than this are the same.
_SAME = 1e-9


class Plan:
    """The weights of the parts: for each loss that the step calls backward for, and for each number that it returns."""

    def __init__(
        self,
        backward: Callable[[int], list[float]],
        returned: Callable[[int], list[float]],
        losses: list[list[float]],
    ) -> None:
        self.backward = backward
        self.returned = returned
        self._losses = losses

    def is_empty(self, part: int) -> bool:
        """Whether nothing of a part counts for any loss."""
        return bool(self._losses) and not any(weights[part] for weights in self._losses)

    def weigh_backward(self, part: int) -> Callable[[int], float]:
        """What the gradients of a part's backward calls are multiplied by."""
        return lambda call: self.backward(call)[part]


class Weights:
    """What the losses of one step average over, as far as it is known: told by `count=`, or measured when a batch of it is
    cut for the first time. Where several answers give the same weights all of them are kept, until a batch tells them
    apart."""

    def __init__(self, count: str | Callable[..., Any] | None) -> None:
        self._count = count
        self._measurement: Measurement | None = None

    def plan(
        self, step: Callable[..., Any], batch: Batch, pieces: list[Batch], modules: Modules, restore: Callable[[], None]
    ) -> Plan:
        """The weights of these pieces. Where the step has to be tried for it, `restore` is called afterwards."""
        count = self._count
        counts = steadily(lambda: possible(batch) if count is None else named(count, batch))
        if len(counts) == 1:
            weights = steadily(lambda: counts[0].weights(pieces))
            return Plan(lambda index: weights, lambda index: weights, [weights])
        if self._measurement is None:
            self._measure(Measurement(counts), step, batch, modules, restore)
        plan = self._agreed(pieces)
        if plan is None:
            assert self._measurement is not None
            self._measure(self._measurement, step, batch, modules, restore)
            plan = self._agreed(pieces)
        if plan is None:
            raise Refusal("what the loss averages over cannot be told apart; pass count=: samples, tokens, sum or a function")
        return plan

    def _measure(
        self,
        measurement: Measurement,
        step: Callable[..., Any],
        batch: Batch,
        modules: Modules,
        restore: Callable[[], None],
    ) -> None:
        try:
            measurement.narrow(step, batch, modules)
        finally:
            restore()
        self._measurement = measurement

    def _agreed(self, pieces: list[Batch]) -> Plan | None:
        """The weights, where all counts that are left give the same; None where they differ for a loss."""
        assert self._measurement is not None
        known: dict[Count, list[float]] = {}
        backward = [_same(counts, pieces, known) for counts in self._measurement.backward]
        returned = [_same(counts, pieces, known) for counts in self._measurement.returned]
        # A step that returns its loss and does not call backward has no other loss.
        losses = [each for each in backward or returned[:1] if each is not None]
        if len(losses) < len(backward or returned[:1]):
            return None

        def weigh(index: int) -> list[float]:
            weights = backward[index] if index < len(backward) else None
            if weights is None:
                raise Refusal("the step calls backward more often than when it was measured; pass count=")
            return weights

        def weigh_returned(index: int) -> list[float]:
            weights = returned[index] if index < len(returned) else None
            if weights is None:
                raise Refusal(f"what the step's result number {index + 1} averages over is not found; pass gather=")
            return weights

        return Plan(weigh, weigh_returned, losses)


def _same(counts: list[Count], pieces: list[Batch], known: dict[Count, list[float]]) -> list[float] | None:
    found: list[float] | None = None
    for count in counts:
        if count not in known:
            known[count] = steadily(functools.partial(count.weights, pieces))
        weights = known[count]
        if found is not None and any(abs(a - b) > _SAME for a, b in zip(found, weights)):
            return None
        found = found or weights
    return found
