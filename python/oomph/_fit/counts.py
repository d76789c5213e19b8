"""What a loss may average over."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from .batch import Batch
from .failures import Refusal

# What PyTorch's losses pass over.
IGNORED = -100


@dataclasses.dataclass(frozen=True)
class Count:
    """How much of the loss a part of a batch is: of `kind` "samples", "sum" (each part counts 1, for losses that are sums),
    "not" (entries of a leaf that are not `value`), "mask" (the sum of a leaf of zeros and ones), "call".

    With `shifted`, the first entry of each sample is passed over: language models predict from the second on.
    """

    kind: str
    leaf: int = -1
    value: int = IGNORED
    shifted: bool = False
    call: Callable[..., Any] | None = None

    def of(self, part: Batch) -> float:
        """The count of one part."""
        if self.kind == "samples":
            return float(part.size)
        if self.kind == "sum":
            return 1.0
        if self.kind == "call":
            assert self.call is not None
            return float(self.call(*part.args, **part.kwargs))
        leaf = part.leaves[self.leaf]
        leaf = leaf[..., 1:] if self.shifted else leaf
        return float((leaf.sum() if self.kind == "mask" else (leaf != self.value).sum()).item())

    def weights(self, parts: list[Batch]) -> list[float]:
        """What each part's loss is multiplied by, so that the sum is the loss of the whole."""
        if self.kind == "sum":
            return [1.0] * len(parts)
        counts = [self.of(part) for part in parts]
        total = sum(counts)
        if not total > 0 or min(counts) < 0:
            raise Refusal(f"count= gives {total:g} for this batch; it must be positive")
        return [count / total for count in counts]


def named(count: str | Callable[..., Any], batch: Batch) -> list[Count]:
    """The counts that a user's word may mean; the measurement chooses among several."""
    if callable(count):
        return [Count("call", call=count)]
    if count in ("samples", "sum"):
        return [Count(count)]
    found = [each for each in possible(batch) if each.kind == "not" and each.value == IGNORED]
    if not found:
        raise Refusal('count="tokens": no whole numbers among the arguments; pass a function of them instead')
    # Those with entries to pass over are the labels, if there are any.
    with_ignored = [each for each in found if bool((batch.leaves[each.leaf] == IGNORED).any())]
    return with_ignored or found


def possible(batch: Batch) -> list[Count]:
    """Everything that a loss of this batch may average over, the most usual first."""
    found = [Count("samples"), Count("sum")]
    for index, leaf in enumerate(batch.leaves):
        if not isinstance(leaf, torch.Tensor) or leaf.is_complex() or not leaf.numel():
            continue
        shifts = (False, True) if leaf.ndim >= 2 and leaf.shape[-1] > 1 else (False,)
        whole = not leaf.is_floating_point() and leaf.dtype != torch.bool
        if whole:
            values = {IGNORED, 0, int(leaf.flatten().mode().values.item())} if leaf.ndim >= 2 else {IGNORED}
            found += [Count("not", index, value, shifted) for value in sorted(values) for shifted in shifts]
        if leaf.dtype == torch.bool or bool(((leaf == 0) | (leaf == 1)).all()):
            found += [Count("mask", index, 0, shifted) for shifted in shifts]
    return found
