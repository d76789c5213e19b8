"""What storages on the GPU are for: weights, gradients, optimizer state, buffers, workspaces.

A class is noted for the address at which a storage begins, at the time of the look. The allocator's events say which
allocation that was and how long it lived.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .clock import now
from .storages import storage_of

# [time, device, address, bytes, class]
Entry = tuple[int, int, int, int, str]

# How many looks at gradients are kept; each holds an entry for every parameter.
KEPT_LOOKS = 16


def _entries(tensors: Iterable[Any], name: str, time: int) -> Iterator[Entry]:
    for tensor in tensors:
        found = storage_of(tensor)
        if found is not None:
            yield (time, *found, name)


def _parameters(optimizer: Any) -> Iterator[Any]:
    for group in optimizer.param_groups:
        yield from group["params"]


def gradients(optimizer: Any) -> list[Entry]:
    """The gradients an optimizer is about to use."""
    tensors = (parameter.grad for parameter in _parameters(optimizer) if parameter.grad is not None)
    return list(_entries(tensors, "gradients", now()))


def _state(optimizer: Any, torch: Any) -> Iterator[Any]:
    for state in list(optimizer.state.values()):
        values = state.values() if isinstance(state, dict) else [state]
        yield from (value for value in values if isinstance(value, torch.Tensor))


# How many tensors of a parameter's size an optimizer comes to keep for it.
_KEPT = {"Adam": 2, "AdamW": 2, "NAdam": 2, "RAdam": 2, "Adamax": 2, "Adadelta": 2, "ASGD": 1, "Adagrad": 1, "RMSprop": 1}


def _kept_for_each(optimizer: Any) -> int:
    """How many tensors of a parameter's size the optimizer will keep for it; where its class is unknown, as many as
    it keeps by now."""
    settings = optimizer.defaults
    for kind in type(optimizer).__mro__:
        if kind.__name__ in _KEPT:
            return _KEPT[kind.__name__] + bool(settings.get("amsgrad")) + bool(settings.get("centered"))
        if kind.__name__ == "SGD":
            return int(bool(settings.get("momentum")))
    return 0


def _is_a(thing: object, kind: type) -> bool:
    # Not isinstance: that asks the thing itself, and proxies answer by running code of theirs.
    return issubclass(type(thing), kind)


class Trained(NamedTuple):
    """The models and optimizers that are alive."""

    modules: list[Any]
    optimizers: list[Any]

    @classmethod
    def find(cls, torch: Any) -> Trained:
        found = cls([], [])
        for thing in gc.get_objects():
            if _is_a(thing, torch.nn.Module):
                found.modules.append(thing)
            elif _is_a(thing, torch.optim.Optimizer):
                found.optimizers.append(thing)
        return found

    def parameters(self) -> Iterator[Any]:
        """Those of the modules; one that two modules share comes twice."""
        for module in self.modules:
            own = list(module.__dict__.get("_parameters", {}).values())
            yield from (parameter for parameter in own if parameter is not None)

    def buffers(self) -> Iterator[Any]:
        for module in self.modules:
            own = list(module.__dict__.get("_buffers", {}).values())
            yield from (buffer for buffer in own if buffer is not None)


def outlook(torch: Any, alive: Trained) -> dict[str, Any]:
    """What training has on the GPU by the time of the first update: bytes that get gradients, and the optimizers with the
    bytes of their parameters and of their state, now and to come."""
    trained: dict[tuple[int, int], int] = {}
    for parameter in alive.parameters():
        found = storage_of(parameter) if parameter.requires_grad else None
        if found is not None:
            trained[found.key] = parameter.nbytes
    optimizers = []
    for optimizer in alive.optimizers:
        mine = [p for p in _parameters(optimizer) if p.is_cuda and p.requires_grad]
        size = sum(p.nbytes for p in mine)
        state = sum(tensor.nbytes for tensor in _state(optimizer, torch) if tensor.is_cuda)
        whole = size * _kept_for_each(optimizer)
        name = type(optimizer).__name__
        optimizers.append({"name": name, "parameters": size, "state": state, "whole": max(whole, state)})
    return {"trained": sum(trained.values()), "optimizers": optimizers}


def every_class(torch: Any, alive: Trained, segments: list[dict[str, Any]]) -> list[Entry]:
    """Every class that can be told by looking at the models and optimizers that are alive."""
    time = now()
    by_place: dict[tuple[int, int], Entry] = {}

    def note(tensors: Iterable[Any], name: str) -> None:
        for entry in _entries(tensors, name, time):
            # The first class counts: weights that are also somebody's buffer are weights.
            by_place.setdefault((entry[1], entry[2]), entry)

    parameters = [*alive.parameters(), *(p for optimizer in alive.optimizers for p in _parameters(optimizer))]
    note(parameters, "weights")
    note((p.grad for p in parameters if p.grad is not None), "gradients")
    for optimizer in alive.optimizers:
        note(_state(optimizer, torch), "optimizer")
    note(alive.buffers(), "buffers")
    for entry in _workspaces(torch, segments, time):
        by_place.setdefault((entry[1], entry[2]), entry)
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


def _workspaces(torch: Any, segments: list[dict[str, Any]], time: int) -> Iterator[Entry]:
    """Blocks of exactly a workspace's size that no model or optimizer owns."""
    sizes: dict[int, set[int]] = {}
    for segment in segments:
        device = segment["device"]
        address = segment["address"]
        for block in segment["blocks"]:
            size = block.get("requested_size", block["size"])
            if block["state"] == "active_allocated" and size >= 1 << 20:
                if device not in sizes:
                    sizes[device] = _workspace_sizes(torch, device)
                if size in sizes[device]:
                    yield (time, device, block.get("address", address), size, "workspaces")
            address += block["size"]
