"""Saved activations on the host. What a model's forward pass saves for the backward pass is copied to pinned memory, and
comes back when it is wanted, the next ahead of its use. The same bytes come back: the result is the same bit for bit.

A program that changes what was saved in place fails in its backward pass. It still does if what it changed was on the card,
and not if it was gone: then the backward pass has what was saved, which is what it should have had."""

from __future__ import annotations

import collections
import contextlib
import itertools
import sys
import weakref
from collections.abc import Iterator
from typing import Any

from . import host, versions

# What is smaller stays on the card, in bytes.
SMALLEST = 1 << 20
# How much may be on the card while it is copied away, and how much may come back before it is used. What computes waits
# for copies beyond that: so as much memory is needed on every card, however quick its copies are.
WINDOW = 64 << 20
# A tensor that is a smaller part of its memory stays: the rest may be the program's own.
SMALLEST_PART = 4


class Activations:
    """Moves this share of what is saved in the training forward passes of the program's models."""

    def __init__(
        self,
        torch: Any,
        share: tuple[int, int],
        *,
        device: str = "cuda",
        smallest: int = SMALLEST,
        window: int = WINDOW,
    ) -> None:
        self._torch = torch
        self._share = share
        self._device = device
        self._smallest = smallest
        self._depth = 0
        self._context = contextlib.ExitStack()
        self._shelf: Shelf | None = None
        self._window = window
        # The addresses of parameters and buffers; of what is kept on the card; and how much was seen and sent.
        self._own: set[int] = set()
        self._kept: set[int] = set()
        self._seen = self._sent = 0
        self.moved = 0
        hooks = torch.nn.modules.module
        hooks.register_module_forward_pre_hook(self._before)
        hooks.register_module_forward_hook(self._after, always_call=True)

    def _before(self, module: Any, args: Any) -> None:
        if self._depth == 0 and module.training and self._is_open():
            parts = itertools.chain(module.parameters(), module.buffers())
            plain = (part for part in parts if type(part.data) is self._torch.Tensor)
            self._own = {part.untyped_storage().data_ptr() for part in plain}
            self._kept.clear()
            self._context.enter_context(self._torch.autograd.graph.saved_tensors_hooks(self._pack, unpacked))
        self._depth += 1

    def _after(self, module: Any, args: Any, output: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._context.close()

    def _is_open(self) -> bool:
        """Whether this is a forward pass to be trained on; what a backward pass computes again is not."""
        torch = self._torch
        is_enabled = getattr(torch._C._autograd, "_saved_tensors_hooks_is_enabled", lambda: True)
        return bool(
            torch.is_grad_enabled()
            and torch._C._current_graph_task_id() == -1
            and not versions.is_compiling(torch)
            and is_enabled()
        )

    def _pack(self, tensor: Any) -> Saved:
        entry = self._entry(tensor) if self._is_large(tensor) else None
        if entry is not None:
            self.moved += 1
            entry.saves += 1
            entry.aliases.append((tensor, tensor._version))
        return Saved(tensor, entry)

    def _is_large(self, tensor: Any) -> bool:
        torch = self._torch
        if type(tensor) is not torch.Tensor or tensor.device.type != self._device or tensor.layout != torch.strided:
            return False
        storage = tensor.untyped_storage()
        size = tensor.numel() * tensor.element_size()
        return (
            size >= self._smallest
            and storage.nbytes() <= SMALLEST_PART * size
            and storage.data_ptr() not in self._own
            and not (self._device == "cuda" and torch.cuda.is_current_stream_capturing())
        )

    def _entry(self, tensor: Any) -> Entry | None:
        """What is or will be on the host of a tensor's memory; `None`: it stays on the card."""
        storage = tensor.untyped_storage()
        address, size = storage.data_ptr(), storage.nbytes()
        if self._shelf is None:
            self._shelf = Shelf(self._torch, tensor.device, self._window)
        entry = self._shelf.on_its_way(address)
        if entry is not None:
            return entry
        if address in self._kept:
            return None
        self._seen += size
        part, whole = self._share
        if (self._sent + size) * whole > part * self._seen:
            self._kept.add(address)
            return None
        self._sent += size
        return self._shelf.send(storage)


class Saved:
    """What the graph holds of one saved tensor."""

    __slots__ = ("entry", "place", "tensor", "version")

    def __init__(self, tensor: Any, entry: Entry | None) -> None:
        # The tensor itself where it stayed on the card; else an empty one, of its kind.
        self.tensor = tensor if entry is None else tensor.new_empty(0)
        self.version = tensor._version
        self.entry = entry
        self.place = (tensor.storage_offset(), tensor.shape, tensor.stride())


def unpacked(saved: Saved) -> Any:
    """The tensor that was saved."""
    if saved.entry is None:
        _check(saved.tensor, saved.version)
        return saved.tensor
    return saved.tensor.new_empty(0).set_(saved.entry.use(), *saved.place)


def _check(tensor: Any, version: int) -> None:
    # PyTorch does not look at versions where there are hooks.
    if tensor._version != version:
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[{tensor.type()} {list(tensor.shape)}] is at version {tensor._version}; expected version {version} instead"
        )


class Shelf:
    """The memory on the host, what is on its way there, and what comes back."""

    def __init__(self, torch: Any, device: Any, window: int) -> None:
        self.torch = torch
        self.device = device
        self.streams = host.streams(torch, device)
        self._window = window
        self._arena = host.Arena(torch, device.type)
        # Memory on the host that is free, by its size. Steps want the same sizes again and again.
        self.free: dict[int, list[Any]] = collections.defaultdict(list)
        # What is on its way, by its address on the card, the oldest first.
        self._leaving: dict[int, weakref.ref[Entry]] = {}
        self._last: weakref.ref[Entry] | None = None

    def on_its_way(self, address: int) -> Entry | None:
        """What still has this memory on the card, as it is now."""
        found = self._leaving.get(address)
        entry = found() if found is not None else None
        if entry is None or entry.here is None or not entry.is_unchanged():
            return None
        # What has been away and is back lies elsewhere.
        return entry if entry.here.untyped_storage().data_ptr() == address else None

    def send(self, storage: Any) -> Entry:
        """Begins to copy memory to the host."""
        size = storage.nbytes()
        free = self.free[size]
        here = self.torch.empty(0, dtype=self.torch.uint8, device=self.device).set_(storage)
        place = free.pop() if free else self._arena.like(here)
        entry = Entry(self, here, place, self._last)
        self._last = weakref.ref(entry)
        self._leaving.pop(storage.data_ptr(), None)
        self._leaving[storage.data_ptr()] = self._last
        self._let_go()
        return entry

    def _let_go(self) -> None:
        """The oldest go, until what is on its way is no more than the window."""
        alive = {address: entry for address, found in self._leaving.items() if (entry := found()) is not None}
        alive = {address: entry for address, entry in alive.items() if entry.here is not None}
        size = sum(entry.size for entry in alive.values())
        for address in list(alive):
            if size <= self._window or len(alive) == 1:
                break
            entry = alive.pop(address)
            size -= entry.size
            entry.let_go()
        self._leaving = {address: weakref.ref(entry) for address, entry in alive.items()}

    def fetch_before(self, entry: Entry) -> None:
        """What was saved before this will be wanted next."""
        ahead = 0
        for other in entry.before():
            # What has not left yet counts as well.
            ahead += other.size
            if ahead > self._window:
                break
            if other.here is None:
                other.fetch()


class Entry:
    """Memory of the card that is on the host, on its way there, or back."""

    def __init__(self, shelf: Shelf, here: Any, place: Any, before: weakref.ref[Entry] | None) -> None:
        self._shelf = shelf
        self.size = here.numel()
        self.here: Any = here
        self._place = place
        self._before = before
        # Tensors that were saved of it while it is on the card, with their versions.
        self.aliases: list[tuple[Any, int]] = []
        self._changed: tuple[Any, int] | None = None
        # In how many places of the graph it is saved, and how many of these have yet to be seen since it is here.
        self.saves = 0
        self._left = 0
        streams = shelf.streams
        self._done = streams.copy(place, here, streams.out)
        self._stream = streams.current()

    def is_unchanged(self) -> bool:
        return all(tensor._version == version for tensor, version in self.aliases)

    def before(self) -> Iterator[Entry]:
        """Those that were saved before, the latest first."""
        found = self._before() if self._before is not None else None
        while found is not None:
            yield found
            found = found._before() if found._before is not None else None

    def let_go(self) -> None:
        """Leaves the card when the copies to it or from it are done."""
        self._shelf.streams.wait(self._done, self._stream)
        for tensor, version in self.aliases:
            if tensor._version != version:
                self._changed = (tensor.new_empty(0), version)
        self.aliases.clear()
        self.here = None

    def fetch(self) -> None:
        """Begins to come back."""
        shelf = self._shelf
        self.here = shelf.torch.empty(self.size, dtype=shelf.torch.uint8, device=shelf.device)
        self._stream = shelf.streams.current()
        self._done = shelf.streams.copy(self.here, self._place, shelf.streams.back, after=self._done)

    def use(self) -> Any:
        """Its memory on the card, for one of the places where it is saved; after the last it leaves."""
        for tensor, version in self.aliases:
            _check(tensor, version)
        if self._changed is not None:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation"
            )
        if self.here is None:
            self.fetch()
        if self._left == 0:
            self._left = self.saves
        self._shelf.streams.wait(self._done, self._shelf.streams.current())
        self._shelf.fetch_before(self)
        storage = self.here.untyped_storage()
        self._left -= 1
        if self._left == 0:
            self.let_go()
        return storage

    def __del__(self) -> None:
        if sys.is_finalizing():
            return
        if self.here is not None:
            self.let_go()
        self._shelf.free[self.size].append(self._place)
