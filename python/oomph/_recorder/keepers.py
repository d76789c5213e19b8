"""Who keeps each storage on the GPU alive: the variable that leads to it, or no variable: then a graph or C++ does."""

from __future__ import annotations

import gc
import itertools
import re
import sys
import time
from types import FunctionType, ModuleType
from typing import Any

from . import alive
from .graphs import operations
from .paths import Anchor, Walk, module_roots, roots, variables
from .storages import has_graph, is_own, own_frames, storage_of

# How long the search may take, in seconds: the program is dying, and a person waits.
_PATIENCE = 5.0
# Storages below this size are not worth a row.
_SMALLEST = 64 << 10
_MOST = 20_000
_MOST_HOLDERS = 256
# The collector is asked where no variable leads to one part in so many of all, or to more than so many results of graphs.
_MUCH = 10
_MANY = 8
# Types whose objects keep no tensor of a program by themselves: the collector shows what they refer to elsewhere.
_PLAIN = (type, ModuleType, FunctionType)
# So many graphs of a variable are looked at, each up to so many operations.
_GRAPHS = 4
_OPERATIONS = 20_000
# The number of a layer in a path: `blocks.0`, `layers[3]`.
_NUMBER = re.compile(r"(\.|\[)\d+(?=[.\]]|$)")


def keepers(torch: Any) -> dict[str, Any]:
    """The holders, largest first; and the storages of this process, each with its device, address, bytes, the place of its
    holder (None: no variable leads to it), whether it has a graph, and whether only a cycle of objects keeps it."""
    storages = _storages(torch)
    referred = _referred(storages)
    holders: dict[tuple[str, str], _Holder] = {}
    found: list[tuple[int, int, int, _Holder | None, bool]] = []
    # What no Python object refers to, no variable leads to: a graph keeps it, or C++.
    waiting = {key: entry for key, entry in storages.items() if id(entry[0]) in referred}
    walk = Walk(torch, time.monotonic() + _PATIENCE)

    def reached(tensor: Any, anchor: Anchor) -> bool:
        storage = storage_of(tensor)
        entry = storage and waiting.pop(storage.key, None)
        if storage is not None and entry is not None:
            # The lists of all layers are one holder.
            path = _NUMBER.sub(r"\1*", anchor.path)
            holder = holders.setdefault((path, anchor.where), _Holder(path, anchor))
            holder.add(tensor, entry[1])
            found.append((*storage, holder, has_graph(tensor)))
        return bool(waiting)

    for root in itertools.chain(roots(torch, own_frames()), module_roots()):
        if not waiting or walk.cut:
            break
        walk.follow(root, reached)
    named = {(device, address) for device, address, *_ in found}
    nameless = [entry for key, entry in storages.items() if key not in named]
    is_much = sum(size for _, size in nameless) * _MUCH > sum(size for _, size in storages.values())
    # A small result of a graph keeps all that the graph does.
    are_many = sum(has_graph(tensor) for tensor, _ in nameless) > _MANY
    nameless.clear()
    cycles = _in_cycles(torch) if is_much or are_many else set()
    found += [(*key, size, None, has_graph(t)) for key, (t, size) in storages.items() if key not in named]
    found.sort(key=lambda entry: -entry[2])
    ranked = sorted(holders.values(), key=lambda holder: -holder.bytes)[:_MOST_HOLDERS]
    place = {id(holder): number for number, holder in enumerate(ranked)}
    # The program may go on: nothing of this search may keep its tensors, not even until the collector runs.
    storages.clear()
    waiting.clear()
    walk.forget()
    return {
        "holders": [holder.row() for holder in ranked],
        "storages": [
            [*entry[:3], place.get(id(entry[3])), entry[4], entry[:2] in cycles] for entry in found[:_MOST]
        ],
        "cut": walk.cut,
    }


def _in_cycles(torch: Any) -> set[tuple[int, int]]:
    """The storages that only objects keep which refer to each other: what the collector would free. Nothing is freed."""
    debug, kept = gc.get_debug(), len(gc.garbage)
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        garbage = gc.garbage[kept:]
        # This search refers to tensors, so that the collector takes them for alive: what is garbage leads to them.
        tensors = [thing for thing in gc.get_referents(*garbage) + garbage if issubclass(type(thing), torch.Tensor)]
        return {storage.key for storage in map(storage_of, tensors) if storage is not None}
    finally:
        gc.set_debug(debug)
        del gc.garbage[kept:]


class _Holder:
    def __init__(self, path: str, anchor: Anchor) -> None:
        self.path = path
        self.anchor = anchor
        self.bytes = 0
        self._largest = 0
        self._shape = ""
        self._graph = 0
        self._graphs = 0

    def add(self, tensor: Any, size: int) -> None:
        self.bytes += size
        if size > self._largest:
            self._largest = size
            self._shape = f"{list(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"
        if self._graphs < _GRAPHS and has_graph(tensor):
            self._graphs += 1
            self._graph = max(self._graph, _operations(tensor))

    def row(self) -> dict[str, Any]:
        anchor = self.anchor
        place = anchor.where.removeprefix(" in ")
        return {"path": self.path, "class": anchor.kind, "place": place, "shape": self._shape, "graph": self._graph}


def _operations(tensor: Any) -> int:
    """How many operations the graph of a tensor has, up to a bound."""
    return sum(1 for _ in itertools.islice(operations(tensor, set()), _OPERATIONS))


def _referred(storages: dict[tuple[int, int], tuple[Any, int]]) -> set[int]:
    """The ids of those tensors that some Python object refers to, beside this search."""
    wanted = {id(tensor) for tensor, _ in storages.values()}
    found = wanted & alive.referred({id(entry) for entry in storages.values()}, _PLAIN)
    step: Any = None
    for step in list(sys._current_frames().values()):
        while step is not None:
            if not is_own(step):
                found.update(id(root.value) for root in variables(step) if id(root.value) in wanted)
            step = step.f_back
    # A frame that refers to itself would keep the tensors until the collector runs.
    del step
    return found


def _storages(torch: Any) -> dict[tuple[int, int], tuple[Any, int]]:
    """Every storage that a Python object leads to: a tensor of it, and its bytes."""
    found: dict[tuple[int, int], tuple[Any, int]] = {}
    for thing in alive.instances(torch.Tensor):
        storage = storage_of(thing)
        # A number with a graph is small, and keeps much.
        if storage is not None and (storage.bytes >= _SMALLEST or has_graph(thing)):
            if storage.key not in found or has_graph(thing):
                found[storage.key] = (thing, storage.bytes)
    return found
