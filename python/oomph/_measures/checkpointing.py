"""Gradient checkpointing of as many blocks of a model as it takes: what a block computed in the forward pass is dropped
and computed again in the backward pass, from its inputs and with the random numbers it had. The result is the same bit
for bit."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Iterator
from typing import Any

# Arguments of a block by which a model for text keeps what it has computed for later tokens. Training has no later
# tokens, and computing a block again would add to them twice.
_CACHES = ("past_key_values", "past_key_value", "layer_past")


def blocks(torch: Any, model: Any) -> list[Any]:
    """The parts that a model repeats: members of a list or a sequence, of one class, with parameters to train. Of blocks
    within blocks the outer ones."""
    found: list[Any] = []
    inside: set[int] = set()
    for holder in model.modules():
        if id(holder) in inside or not isinstance(holder, (torch.nn.ModuleList, torch.nn.Sequential)):
            continue
        members = list(holder.children())
        classes = [type(member) for member in members]
        for member in members:
            is_block = classes.count(type(member)) > 1 and len(list(member.children())) > 0
            if is_block and any(parameter.requires_grad for parameter in member.parameters()):
                found.append(member)
                inside.update(id(part) for part in member.modules())
    return found


def note(torch: Any, model: Any, found: dict[str, Any]) -> None:
    """How many blocks there are to checkpoint, over all models."""
    free = [block for block in blocks(torch, model) if not _is_checkpointed(block)]
    found["blocks"] = found.get("blocks", 0) + len(free)
    norms = torch.nn.modules.batchnorm._BatchNorm
    found["batch_norm"] = bool(found.get("batch_norm")) or any(isinstance(part, norms) for part in model.modules())


def checkpoint(torch: Any, model: Any, share: float) -> int:
    """Checkpoints this share of the model's blocks, the first ones; gives how many these are."""
    free = [block for block in blocks(torch, model) if not _is_checkpointed(block)]
    chosen = free[: math.ceil(share * len(free) - 1e-9)]
    for block in chosen:
        block.forward = _checkpointed(torch, block, block.forward)
    return len(chosen)


def _is_checkpointed(block: Any) -> bool:
    return bool(getattr(block, "gradient_checkpointing", False))


def _checkpointed(torch: Any, block: Any, forward: Any) -> Any:
    from torch.utils.checkpoint import checkpoint as compute_again

    counted = [part for part in block.modules() if getattr(part, "track_running_stats", False)]

    @functools.wraps(forward)
    def forward_once_and_again(*args: Any, **kwargs: Any) -> Any:
        if not (block.training and torch.is_grad_enabled()):
            return forward(*args, **kwargs)
        for name in _CACHES:
            if kwargs.get(name) is not None:
                kwargs[name] = None
        if kwargs.get("use_cache"):
            kwargs["use_cache"] = False
        contexts = (lambda: (contextlib.nullcontext(), _statistics_kept(counted))) if counted else None
        more = {"context_fn": contexts} if contexts is not None else {}
        return compute_again(forward, *args, use_reentrant=False, **more, **kwargs)

    return forward_once_and_again


@contextlib.contextmanager
def _statistics_kept(norms: list[Any]) -> Iterator[None]:
    """What a block computes again counts once in the running statistics of its BatchNorms."""
    had = [[(buffer, buffer.clone()) for buffer in norm.buffers(recurse=False)] for norm in norms]
    try:
        yield
    finally:
        for pairs in had:
            for buffer, copy in pairs:
                buffer.copy_(copy)
