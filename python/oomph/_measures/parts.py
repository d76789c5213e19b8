"""A DataLoader whose batches come in parts: the same samples in the same order, so many equal parts for each batch."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any, NoReturn


class Parts:
    """Cuts each batch of indices that a sampler gives. Random numbers are drawn as before, by the sampler itself."""

    def __init__(self, batches: Any, parts: int, counts: bool = True, first: int | None = None) -> None:
        self._batches = batches
        self._parts = parts
        # Whether its length is the number of parts, or that of whole batches, which a program may count by.
        self._counts = counts
        # Only so many samples of the first batch, to try something out.
        self._first = first
        self.batch_size = batches.batch_size // parts if first is None else first // parts
        self.drop_last = batches.drop_last
        self.sampler = batches.sampler

    def __iter__(self) -> Iterator[list[Any]]:
        for batch in self._batches:
            indices = list(batch)[: self._first]
            size = len(indices) // self._parts
            for part in range(self._parts):
                yield indices[part * size : (part + 1) * size]
            if self._first is not None:
                return

    def __len__(self) -> int:
        return len(self._batches) * (self._parts if self._counts else 1)


def why_whole(torch: Any, loader: Any, parts: int) -> str | None:
    """Why the batches of a loader have no such parts; None where they have."""
    data = torch.utils.data
    if not isinstance(loader, data.DataLoader):
        return "the data does not come from one DataLoader of PyTorch"
    if type(loader.batch_sampler) is not data.BatchSampler:
        return "the DataLoader makes its batches in a way of its own"
    batch, most = loader.batch_sampler.batch_size, equal_parts(loader)
    if most is None:
        return "the number of samples is not known"
    if most == 1 < batch:
        return "the last batch of an epoch has no equal parts (drop_last=True leaves it out)"
    return f"a batch of {batch} has no {parts} equal parts" if most % parts else None


def refuse(why: str, remarks: list[str]) -> NoReturn:
    """Ends a program that was to run in parts: with what has been changed of it by then it would be another training."""
    remarks.append(f"not changed: {why}")
    raise RuntimeError(f"oomph fit: no micro-batches: {why}")


def equal_parts(loader: Any) -> int | None:
    """The greatest number of equal parts that all batches of an epoch have; each of its divisors is one, too."""
    sampler = loader.batch_sampler
    try:
        rest = 0 if sampler.drop_last else len(sampler.sampler) % sampler.batch_size
    except TypeError:
        return None
    return math.gcd(sampler.batch_size, rest)


def cut(loader: Any, parts: int, counts: bool = True, first: int | None = None) -> Any:
    """The same loader with its batches in parts."""
    made = copy.copy(loader)
    sampler = Parts(loader.batch_sampler, parts, counts, first)
    # A DataLoader refuses to be changed by assignment.
    made.__dict__.update(batch_sampler=sampler, batch_size=sampler.batch_size)
    return made
