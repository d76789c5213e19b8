"""Who holds the tensors that are alive: each storage once, under the variable that leads to it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from oomph._oomph import format_size
from oomph._recorder import alive
from oomph._recorder.graphs import operations, saved
from oomph._recorder.paths import Anchor, Walk, module_roots, roots
from oomph._recorder.storages import has_graph, own_frames, storage_of

# How long the search may take, in seconds.
_PATIENCE = 2.0
# Tensors without a name whose referrers are looked for; the look goes through all of Python's memory once.
_NAMELESS = 64
# So many operations of graphs are looked at.
_OPERATIONS = 50_000


@dataclass(frozen=True)
class Holder:
    """A variable, or a part of one, and the memory of the tensors that it alone was found to lead to."""

    device: int
    bytes: int
    tensors: int
    # How to reach it: `model`, `trainer.losses`, `x in train(), train.py:31`.
    path: str
    # What it is: `GPT2, 124.44 M parameters`.
    what: str


@dataclass(frozen=True)
class Holdings:
    """The holders, the largest first."""

    holders: tuple[Holder, ...]
    # Whether the search ended before all was looked at.
    cut: bool


NONE = Holdings((), False)


@dataclass
class _Group:
    """The storages under one anchor."""

    anchor: Anchor
    device: int
    bytes: int = 0
    # Of these, what only the graphs of its tensors keep.
    in_graphs: int = 0
    tensors: list[Any] = field(default_factory=list)

    def what(self, torch: Any) -> str:
        largest = max(self.tensors, key=_size)
        count = len(self.tensors)
        numbers = sum(t.numel() for t in self.tensors if issubclass(type(t), torch.nn.Parameter))
        if self.anchor.gradients:
            text = f"{count} tensor{'s' * (count != 1)}"
        elif numbers and self.anchor.kind:
            text = f"{self.anchor.kind}, {_short_count(numbers)} parameters"
        elif count == 1 and not self.anchor.kind:
            text = _description(largest)
        else:
            kind = f"{self.anchor.kind} of " if self.anchor.kind else ""
            text = f"{kind}{count} tensor{'s' * (count != 1)}, the largest {_description(largest)}"
        graphs = sum(map(has_graph, self.tensors))
        if graphs:
            text += ", with its graph" if count == 1 else f", {graphs} with their graphs"
            text += f" of {format_size(self.in_graphs)}" if self.in_graphs else ""
        return text


def find(torch: Any, kind: str = "cuda", patience: float = _PATIENCE) -> Holdings:
    """Looks for the tensors on devices of this kind, and for the variables that lead to them."""
    until = time.monotonic() + patience
    storages = _storages(torch, kind)
    walk = Walk(torch, until)
    groups: dict[tuple[str, bool, int], _Group] = {}
    waiting = dict(storages)

    def reached(tensor: Any, anchor: Anchor) -> bool:
        """Notes a tensor under its anchor; gives whether there are others to look for."""
        storage = storage_of(tensor, kind)
        found = storage and waiting.pop(storage.key, None)
        if found is not None:
            add(tensor, anchor, found[1])
        return bool(waiting)

    def add(tensor: Any, anchor: Anchor, size: int) -> None:
        group = groups.setdefault(
            (anchor.path, anchor.gradients, _device(tensor)), _Group(anchor, _device(tensor))
        )
        group.bytes += size
        group.tensors.append(tensor)

    cut = False
    for root in itertools.chain(roots(torch, own_frames()), [None], module_roots()):
        if root is None:
            # Before the modules: what has no name by now belongs to graphs as a rule, and there are many modules.
            cut = _charge_graphs(groups.values(), storages.keys() - waiting.keys(), waiting, kind)
        elif waiting and not walk.cut:
            walk.follow(root, reached)
    nameless = sorted(waiting.values(), key=lambda found: -found[1])
    looked = _nameless(nameless, until)
    holders = [
        Holder(g.device, g.bytes, len(g.tensors), g.anchor.name(), g.what(torch)) for g in groups.values()
    ]
    return Holdings(tuple(sorted([*holders, *looked], key=lambda h: (-h.bytes, h.path))), walk.cut or cut)


def _charge_graphs(
    groups: Iterable[_Group],
    named: set[tuple[int, int]],
    waiting: dict[tuple[int, int], tuple[Any, int]],
    kind: str,
) -> bool:
    """Charges what graphs keep, and no variable leads to, to who keeps the graphs: a number on the GPU may hold all that
    the backward pass of its step needs. Gives whether there were too many operations."""
    seen: set[Any] = set()
    for group in groups:
        for tensor in group.tensors:
            for operation in operations(tensor, seen):
                for kept in saved(operation):
                    storage = storage_of(kept, kind)
                    if storage is not None and storage.key not in named:
                        named.add(storage.key)
                        waiting.pop(storage.key, None)
                        group.bytes += storage.bytes
                        group.in_graphs += storage.bytes
                if len(seen) > _OPERATIONS:
                    return True
    return False


def _storages(torch: Any, kind: str) -> dict[tuple[int, int], tuple[Any, int]]:
    """Every storage on devices of this kind: a tensor of it, and its bytes."""
    found: dict[tuple[int, int], tuple[Any, int]] = {}
    tensors = alive.instances(torch.Tensor)
    # The gradient of a parameter may have no Python object yet.
    tensors += [t.grad for t in tensors if _has_gradient(t)]
    for tensor in tensors:
        storage = storage_of(tensor, kind)
        # Parameters tell more than views of them.
        if storage is not None and storage.bytes:
            if storage.key not in found or issubclass(type(tensor), torch.nn.Parameter):
                found[storage.key] = (tensor, storage.bytes)
    return found


def _has_gradient(tensor: Any) -> bool:
    try:
        return bool(tensor.is_leaf and tensor.requires_grad and tensor.grad is not None)
    except Exception:
        return False


def _device(tensor: Any) -> int:
    return tensor.device.index or 0


def _size(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size())


def _description(tensor: Any) -> str:
    shape = "×".join(str(n) for n in tensor.shape) or "scalar"
    return f"{shape} {str(tensor.dtype).removeprefix('torch.')}"


def _short_count(numbers: int) -> str:
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if numbers >= size:
            return f"{numbers / size:.2f} {unit}"
    return str(numbers)


def _nameless(found: list[tuple[Any, int]], until: float) -> list[Holder]:
    """Tensors that no variable leads to, by what refers to them."""
    looked = found[:_NAMELESS] if time.monotonic() < until else []
    rows: dict[tuple[int, str], list[tuple[Any, int]]] = {}
    for (tensor, size), kinds in zip(looked, _referrers(looked)):
        by = f"in a {', '.join(kinds)} that nothing leads to" if kinds else "kept by C++, as a rule for a backward"
        rows.setdefault((_device(tensor), f", {by}"), []).append((tensor, size))
    for tensor, size in found[len(looked) :]:
        rows.setdefault((_device(tensor), ""), []).append((tensor, size))
    holders = []
    for (device, by), tensors in rows.items():
        count, largest = len(tensors), tensors[0][0]
        what = _description(largest) if count == 1 else f"{count} tensors, the largest {_description(largest)}"
        holders.append(Holder(device, sum(size for _, size in tensors), count, "no variable", what + by))
    return holders


def _referrers(found: list[tuple[Any, int]]) -> list[list[str]]:
    """The classes of what refers to each tensor, without this search itself."""
    kinds: dict[int, set[str]] = {id(tensor): set() for tensor, _ in found}
    own = {id(pair) for pair in found}
    # Running functions have been looked through; those that are left are the search's.
    for kind, referents in alive.referrers(set(kinds), own, [FrameType]):
        for child in referents & kinds.keys():
            kinds[child].add(kind.__name__)
    return [sorted(kinds[id(tensor)]) for tensor, _ in found]
