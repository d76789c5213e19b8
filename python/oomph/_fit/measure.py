"""Finds out what the losses of a step average over, by trying it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from . import outputs
from .batch import Batch
from .counts import Count
from .failures import Refusal, is_failure, make_room
from .modules import Modules
from .running import Part

# Relative errors up to this come from the order of sums: in float32, with TF32 allowed, and in shorter numbers.
_NOISE = 2e-6
_TF32_NOISE = 2e-3
_SHORT_NOISE = 2e-2
# Worse than this is no match at all.
_WORST = 1e-4

# What a step gives for a batch: the losses that it calls backward for, and the numbers that it returns.
Values = tuple[list[float], list[float]]


class Measurement:
    """Which counts are right for each loss that a step calls backward for, and for each number that it returns."""

    def __init__(self, counts: list[Count]) -> None:
        self._all = counts
        self.backward: list[list[Count]] = []
        self.returned: list[list[Count]] = []

    def narrow(self, step: Callable[..., Any], batch: Batch, modules: Modules) -> None:
        """Runs the step without gradients on a batch and on two pieces of it, cut at several places, and keeps the counts
        whose weighted sum of the pieces is the value of the whole. The whole is as much of the batch as fits."""
        reason: Refusal | None = None
        for only_dropout in (False, True):
            try:
                self._try(step, batch, modules, only_dropout)
                return
            except Refusal as refusal:
                reason = reason or refusal
        assert reason is not None
        raise reason

    def _try(self, step: Callable[..., Any], batch: Batch, modules: Modules, only_dropout: bool) -> None:
        probe = _Probe(step, modules, only_dropout)
        size = batch.size
        while True:
            sample = batch.part(0, size)
            whole = probe.values(sample)
            if whole is not None:
                break
            if size <= 2:
                raise Refusal("what the loss averages over cannot be measured: two samples do not fit; pass count=")
            size = max(2, size // 2)
        sets = [[list(self._all) for _ in values] for values in whole]
        for kept, known in zip(sets, (self.backward, self.returned)):
            kept[: len(known)] = [list(each) for each in known[: len(kept)]]
        errors: list[list[dict[Count, float]]] = [[{count: 0.0 for count in each} for each in kept] for kept in sets]
        for cut in sorted({max(1, size // 3), max(1, size - 1), size // 2}):
            pieces = [sample.part(0, cut), sample.part(cut, size)]
            values = [probe.values(piece) for piece in pieces]
            if any(each is None for each in values):
                continue
            for kind in (0, 1):
                for index, noted in enumerate(errors[kind]):
                    of_pieces = [each[kind][index] for each in values if each is not None]
                    _note(noted, whole[kind][index], of_pieces, pieces)
        found = [[_matching(noted, probe.noise) for noted in each] for each in errors]
        # A number that is returned beside the losses need not be understood where it is the same for every part.
        if any(not each for each in found[0]) or (found[1] and not found[0] and not any(found[1])):
            raise Refusal("what the loss averages over is not found; pass count=: samples, tokens, sum or a function")
        self.backward, self.returned = found


def _note(errors: dict[Count, float], whole: float, values: list[float], pieces: list[Batch]) -> None:
    for count in errors:
        try:
            weights = count.weights(pieces)
        except Refusal:
            errors[count] = math.inf
            continue
        # The mean over nothing is no number, and counts nothing.
        terms = [weight * value for weight, value in zip(weights, values) if weight]
        scale = max(abs(whole), *map(abs, terms), 1e-30)
        error = abs(sum(terms) - whole) / scale
        errors[count] = max(errors[count], error) if math.isfinite(error) else math.inf


def _matching(errors: dict[Count, float], noise: float) -> list[Count]:
    best = min(errors.values(), default=math.inf)
    limit = max(noise, 4 * best)
    return [count for count, error in errors.items() if error <= limit] if best <= max(noise, _WORST) else []


class _Probe:
    """Runs the step without gradients and without chance."""

    def __init__(self, step: Callable[..., Any], modules: Modules, only_dropout: bool) -> None:
        self._step = step
        self._modules = modules
        self._only_dropout = only_dropout
        self.noise = _NOISE
        if torch.cuda.is_initialized() and (
            torch.backends.cudnn.allow_tf32 or torch.get_float32_matmul_precision() != "highest"
        ):
            self.noise = _TF32_NOISE

    def values(self, batch: Batch) -> Values | None:
        """What the step gives for it; None where memory ran out."""
        try:
            return self._values(batch)
        except Refusal:
            raise
        except Exception as error:
            if not is_failure(error):
                raise Refusal(
                    f"what the loss averages over cannot be measured ({type(error).__name__}: {error}); pass count="
                ) from None
            failure = error
        make_room(failure)
        return None

    def _values(self, batch: Batch) -> Values:
        part = Part(measures=True)
        with torch.no_grad(), self._modules.quiet(self._only_dropout), self._watched(), part:
            result = self._step(*batch.args, **batch.kwargs)
        returned = [float(each) for each in outputs.scalars(result)]
        return [float(each) for each in part.losses], returned

    def _watched(self) -> Any:
        """Notes whether short numbers are used."""
        short = (torch.float16, torch.bfloat16)

        def look(module: Any, inputs: Any) -> None:
            kind = "cuda" if torch.cuda.is_initialized() else "cpu"
            parameters = module._parameters.values()
            if torch.is_autocast_enabled(kind) or any(each is not None and each.dtype in short for each in parameters):
                self.noise = _SHORT_NOISE

        return _Removed(torch.nn.modules.module.register_module_forward_pre_hook(look))


class _Removed:
    """A hook that is there inside the block."""

    def __init__(self, hook: Any) -> None:
        self._hook = hook

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self._hook.remove()
