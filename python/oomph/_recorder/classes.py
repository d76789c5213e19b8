"""What storages on the GPU are for: weights, gradients, optimizer state, buffers, workspaces.

A class is noted for the address at which a storage begins, at the time of the look. The allocator's events say which
allocation that was and how long it lived.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, NamedTuple

from . import alive, complaint
from .clock import now
from .storages import storage_of

# (time, device, address, bytes, class, the number of the module that owns it)
Entry = tuple[int, int, int, int, str, int | None]
# A tensor, and the parameter or buffer that it is, or is for.
Owned = tuple[Any, Any]
# The numbers of modules by the `id` of what they own, where somebody numbers them.
Owners = dict[int, int]

# How many looks at gradients are kept; each holds an entry for every parameter.
KEPT_LOOKS = 16
# Threads that have workspaces of their own: the program's and autograd's.
THREADS = 2


def _in_each(things: Iterable[Any], read: Callable[[Any], Iterable[Any]]) -> Iterator[Any]:
    """What `read` finds in each of these. They are the program's, and may be anything: one that cannot be read is passed
    over, with a word."""
    for thing in things:
        try:
            yield from list(read(thing))
        except Exception as error:
            complaint.once(f"what a {type(thing).__name__} is for is not recorded", error)


def _entries(tensors: Iterable[Owned], name: str, time: int, owners: Owners) -> Iterator[Entry]:
    for tensor, owned in tensors:
        found = storage_of(tensor)
        if found is not None:
            yield (time, *found, name, owners.get(id(owned)))
        else:
            parts = ((part, owned) for part in _in_each([tensor], _parts))
            yield from _entries(parts, name, time, owners)


def _parts(tensor: Any) -> list[Any]:
    """What a tensor wraps: of a quantised weight its numbers and their scales; nothing of most."""
    if not hasattr(type(tensor), "__tensor_flatten__"):
        return []
    return [getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]]


def row(entry: Entry) -> list[Any]:
    """As a recording has it: the number of a module only where there is one."""
    return list(entry if entry[5] is not None else entry[:5])


def _own(tensors: Iterable[Any]) -> Iterator[Owned]:
    return ((tensor, tensor) for tensor in tensors)


def _parameters(optimizer: Any) -> Iterator[Any]:
    # An optimizer that never called its base class has no groups, and one that updates something else has no parameters.
    for group in getattr(optimizer, "param_groups", ()):
        yield from group.get("params", ())


def _gradients(parameters: Iterable[Any]) -> Iterator[Owned]:
    return _in_each(parameters, lambda parameter: () if parameter.grad is None else ((parameter.grad, parameter),))


def gradients(optimizer: Any, owners: Owners) -> list[Entry]:
    """The gradients an optimizer is about to use."""
    return list(_entries(_gradients(_in_each([optimizer], _parameters)), "gradients", now(), owners))


def _state(optimizer: Any, torch: Any) -> Iterator[Owned]:
    for parameter, state in list(getattr(optimizer, "state", {}).items()):
        values = state.values() if isinstance(state, dict) else [state]
        yield from ((value, parameter) for value in values if isinstance(value, torch.Tensor))


# How many tensors of a parameter's size an optimizer comes to keep for it.
_KEPT = {"Adam": 2, "AdamW": 2, "NAdam": 2, "RAdam": 2, "Adamax": 2, "Adadelta": 2, "ASGD": 1, "Adagrad": 1, "RMSprop": 1}


def _kept_for_each(optimizer: Any) -> int:
    """How many tensors of a parameter's size the optimizer will keep for it; where its class is unknown, as many as
    it keeps by now."""
    settings = getattr(optimizer, "defaults", {})
    for kind in type(optimizer).__mro__:
        if kind.__name__ in _KEPT:
            return _KEPT[kind.__name__] + bool(settings.get("amsgrad")) + bool(settings.get("centered"))
        if kind.__name__ == "SGD":
            return int(bool(settings.get("momentum")))
    return 0


class Trained(NamedTuple):
    """The models and optimizers that are alive."""

    modules: list[Any]
    optimizers: list[Any]

    @classmethod
    def find(cls, torch: Any) -> Trained:
        return cls(alive.instances(torch.nn.Module), alive.instances(torch.optim.Optimizer))

    def parameters(self) -> Iterator[Any]:
        """Those of the modules; one that two modules share comes twice."""
        return _in_each(self.modules, lambda module: _registered(module, "_parameters"))

    def buffers(self) -> Iterator[Any]:
        return _in_each(self.modules, lambda module: _registered(module, "_buffers"))


def _registered(module: Any, where: str) -> list[Any]:
    return [tensor for tensor in list(module.__dict__.get(where, {}).values()) if tensor is not None]


def outlook(torch: Any, trained: Trained) -> dict[str, Any]:
    """What training has on the GPU by the time of the first update: bytes that get gradients, and the optimizers with the
    bytes of their parameters and of their state, now and to come."""

    def row(optimizer: Any) -> Iterator[dict[str, Any]]:
        size = sum(_sizes(p for p in _parameters(optimizer) if p.requires_grad).values())
        state = sum(_sizes(value for value, _ in _state(optimizer, torch)).values())
        whole = size * _kept_for_each(optimizer)
        yield {"name": type(optimizer).__name__, "parameters": size, "state": state, "whole": max(whole, state)}

    learning = _in_each(trained.parameters(), lambda p: (p,) if p.requires_grad else ())
    return {"trained": sum(_sizes(learning).values()), "optimizers": list(_in_each(trained.optimizers, row))}


def _sizes(tensors: Iterable[Any]) -> dict[tuple[int, int], int]:
    """The bytes of these tensors that are on a GPU, by where they lie."""
    found = {}
    for tensor in tensors:
        storage = storage_of(tensor)
        if storage is not None:
            # Of a tensor that is spread over ranks, what is here.
            found[storage.key] = min(int(tensor.nbytes), storage.bytes)
    return found


def every_class(torch: Any, trained: Trained, segments: list[dict[str, Any]], owners: Owners | None = None) -> list[Entry]:
    """Every class that can be told by looking at the models and optimizers that are alive."""
    time = now()
    by_place: dict[tuple[int, int], Entry] = {}

    def note(tensors: Iterable[Owned], name: str) -> None:
        for entry in _entries(tensors, name, time, owners or {}):
            # The first class counts: weights that are also somebody's buffer are weights.
            by_place.setdefault((entry[1], entry[2]), entry)

    parameters = [*trained.parameters(), *_in_each(trained.optimizers, _parameters)]
    note(_own(parameters), "weights")
    note(_gradients(parameters), "gradients")
    note(_in_each(trained.optimizers, lambda optimizer: _state(optimizer, torch)), "optimizer")
    note(_own(trained.buffers()), "buffers")
    for entry in list(_workspaces(torch, segments, time, by_place.keys())):
        by_place[entry[1], entry[2]] = entry
    return sorted(by_place.values(), key=lambda entry: (entry[1], entry[2]))


def _workspace_sizes(torch: Any, device: int) -> set[int]:
    """The sizes of the scratch memory that cuBLAS and cuBLASLt are given on a card, as PyTorch chooses them."""
    hopper = torch.cuda.get_device_capability(device)[0] >= 9
    sizes = {32 << 20} if hopper else {(4096 * 2 + 16 * 8) << 10, 1 << 20}
    text = os.environ.get("CUBLAS_WORKSPACE_CONFIG", "")
    words = [word for word in text.split(":") if word]
    if words and len(words) % 2 == 0 and all(word.isdigit() for word in words):
        sizes = {sum(int(size) * int(count) for size, count in zip(words[::2], words[1::2])) << 10}
    lt = os.environ.get("CUBLASLT_WORKSPACE_SIZE", "")
    if lt.isdigit():
        sizes.add(int(lt) << 10)
    return sizes


def _workspaces(
    torch: Any, segments: list[dict[str, Any]], time: int, owned: Container[tuple[int, int]]
) -> Iterator[Entry]:
    """Blocks of exactly a workspace's size that no model or optimizer owns. Activations may have that size too, and be
    many: a stream has one workspace for the program's thread and one for autograd's."""
    sizes: dict[int, set[int]] = {}
    seen: Counter[tuple[int, int, int]] = Counter()
    for segment in segments:
        device = segment["device"]
        address = segment["address"]
        for block in segment["blocks"]:
            size = block.get("requested_size", block["size"])
            if block["state"] == "active_allocated" and size >= 1 << 20:
                if device not in sizes:
                    sizes[device] = _workspace_sizes(torch, device)
                place = (device, block.get("address", address))
                key = (device, segment.get("stream", 0), size)
                if size in sizes[device] and place not in owned and seen[key] < THREADS:
                    seen[key] += 1
                    yield (time, *place, size, "workspaces", None)
            address += block["size"]
