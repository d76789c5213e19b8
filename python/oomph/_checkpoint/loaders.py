"""A `DataLoader` that goes on in the middle of an epoch, in the order it had."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from oomph._oomph import OomphError

_END = object()


def generators_of(loader: Any) -> list[Any]:
    """The random generators that a loader and its samplers draw the order from, each once."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return []
    batches = getattr(loader, "batch_sampler", None)
    holders = (loader, getattr(loader, "sampler", None), batches, getattr(batches, "sampler", None))
    found: list[Any] = []
    for holder in holders:
        generator = getattr(holder, "generator", None)
        if isinstance(generator, torch.Generator) and not any(generator is other for other in found):
            found.append(generator)
    return found


def had_iterator(loader: Any) -> bool:
    """Whether the loader goes on with workers it has: then it draws no new seed for them."""
    return bool(getattr(loader, "persistent_workers", False)) and getattr(loader, "_iterator", None) is not None


def can_skip(loader: Any) -> bool:
    """Whether batches can be passed over by their indices alone: a `DataLoader` over a data set with indices."""
    data: Any = sys.modules.get("torch.utils.data")
    if data is None or not isinstance(loader, data.DataLoader) or type(loader).__iter__ is not data.DataLoader.__iter__:
        return False
    return not isinstance(loader.dataset, data.IterableDataset) and getattr(loader, "_iterator", None) is None


def drop(batches: Iterator[Any], count: int) -> None:
    """Takes so many and forgets them."""
    for done in range(count):
        if next(batches, _END) is _END:
            raise OomphError(
                f"the data ends after {done} batches, and the checkpoint was made after {count}: is it the same data?"
            )


class _Rest:
    """The indices from some batch on. Those before are drawn when the first is asked for, as late as the loader itself
    would draw them: so they come from the same random numbers."""

    def __init__(self, indices: Any, count: int, before: Callable[[], None]) -> None:
        self._indices, self._count, self._before = indices, count, before

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.skip()
        return next(self._indices)

    def skip(self) -> None:
        count, self._count = self._count, 0
        if count:
            self._before()
        drop(self._indices, count)


class _Sampler:
    """A sampler whose iterations begin late, until the loader's iterator is made: that may begin more than one. Later ones
    are whole: workers that persist keep their sampler."""

    def __init__(self, sampler: Any, count: int, before: Callable[[], None]) -> None:
        self._sampler, self._count, self._before = sampler, count, before
        self.is_late = True
        self.rest: _Rest | None = None

    def __iter__(self) -> Iterator[Any]:
        indices: Iterator[Any] = iter(self._sampler)
        if not self.is_late:
            return indices
        self.rest = _Rest(indices, self._count, self._before)
        return self.rest

    def __len__(self) -> int:
        return len(self._sampler)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sampler, name)


def begin_late(loader: Any, count: int, before: Callable[[], None]) -> Iterator[Any]:
    """The loader's batches from `count` on; the others are not loaded. `before` is called before their indices are drawn.
    When this returns, the order has been drawn, and what follows may set the random numbers."""
    name = "sampler" if loader.batch_sampler is None else "batch_sampler"
    original = getattr(loader, name)
    late = _Sampler(original, count, before)
    # The loader refuses to be given another by assignment.
    object.__setattr__(loader, name, late)
    try:
        iterator: Iterator[Any] = iter(loader)
    finally:
        late.is_late = False
        object.__setattr__(loader, name, original)
    if late.rest is not None:
        late.rest.skip()
    return iterator
