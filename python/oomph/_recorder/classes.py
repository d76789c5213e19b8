"""What storages on the GPU are for: weights, gradients, optimizer state, buffers, workspaces.

A class is noted for the address at which a storage begins, at the time of the look. The allocator's events say which
allocation that was and how long it lived.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator
from typing import Any

from .clock import now

# [time, device, address, bytes, class]
Entry = tuple[int, int, int, int, str]

# How many looks at gradients are kept; each holds an entry for every parameter.
KEPT_LOOKS = 16


def _storage(tensor: Any) -> tuple[int, int, int] | None:
    """Device, address and bytes of what lies under a tensor on a GPU."""
    if not tensor.is_cuda:
        return None
    try:
        storage = tensor.untyped_storage()
        address = storage.data_ptr()
        return (tensor.device.index, address, storage.nbytes()) if address else None
    except (RuntimeError, NotImplementedError):
        # Tensors without storage: sparse, nested, wrappers.
        return None


def _entries(tensors: Iterable[Any], name: str, time: int) -> Iterator[Entry]:
    for tensor in tensors:
        found = _storage(tensor)
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


def outlook(torch: Any) -> dict[str, Any]:
    """What training has on the GPU by the time of the first update: bytes that get gradients, and the optimizers with the
    bytes of their parameters and of their state, now and to come."""
    trained: dict[tuple[int, int], int] = {}
    optimizers = []
    for thing in gc.get_objects():
        if _is_a(thing, torch.nn.Module):
            for parameter in list(thing.__dict__.get("_parameters", {}).values()):
                if parameter is not None and parameter.requires_grad:
                    found = _storage(parameter)
                    if found is not None:
                        trained[found[:2]] = parameter.nbytes
        elif _is_a(thing, torch.optim.Optimizer):
            mine = [p for p in _parameters(thing) if p.is_cuda and p.requires_grad]
            size = sum(p.nbytes for p in mine)
            state = sum(tensor.nbytes for tensor in _state(thing, torch) if tensor.is_cuda)
            whole = size * _kept_for_each(thing)
            optimizers.append({"name": type(thing).__name__, "parameters": size, "state": state, "whole": max(whole, state)})
    return {"trained": sum(trained.values()), "optimizers": optimizers}


def _is_a(thing: object, kind: type) -> bool:
    # Not isinstance: that asks the thing itself, and proxies answer by running code of theirs.
    return issubclass(type(thing), kind)


def every_class(torch: Any, segments: list[dict[str, Any]]) -> list[Entry]:
    """Every class that can be told by looking at the models and optimizers that are alive."""
    time = now()
    by_place: dict[tuple[int, int], Entry] = {}

    def note(tensors: Iterable[Any], name: str) -> None:
        for entry in _entries(tensors, name, time):
            # The first class counts: weights that are also somebody's buffer are weights.
            by_place.setdefault((entry[1], entry[2]), entry)

    modules, optimizers = [], []
    for thing in gc.get_objects():
        if _is_a(thing, torch.nn.Module):
            modules.append(thing)
        elif _is_a(thing, torch.optim.Optimizer):
            optimizers.append(thing)
    parameters = [p for module in modules for p in list(module.__dict__.get("_parameters", {}).values()) if p is not None]
    parameters += [p for optimizer in optimizers for p in _parameters(optimizer)]
    note(parameters, "weights")
    note((p.grad for p in parameters if p.grad is not None), "gradients")
    for optimizer in optimizers:
        note(_state(optimizer, torch), "optimizer")
    note((b for module in modules for b in list(module.__dict__.get("_buffers", {}).values()) if b is not None), "buffers")
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
