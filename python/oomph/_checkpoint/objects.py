"""What a job hands over to be saved: anything with `state_dict` and `load_state_dict`, and generators of random numbers."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from oomph._oomph import OomphError

from .tree import Encoder


@dataclass
class Held:
    """One object: how its state is taken and put back."""

    called: str
    take: Callable[[], Any]
    put: Callable[[Any], object]
    # The same on every rank, so that one of them saves it.
    is_shared: bool
    # What must be the same for a checkpoint to be this job's.
    shape: str


def hold(objects: tuple[Any, ...]) -> tuple[list[Held], list[Any]]:
    """What is saved of these objects; and the data loaders among them, which are saved by their place alone."""
    held: list[Held] = []
    loaders: list[Any] = []
    for value in objects:
        if value is None:
            continue
        if _is_loader(value):
            loaders.append(value)
        else:
            held.append(_held(value, f"{type(value).__name__} (argument {len(held) + len(loaders) + 1})"))
    # What cannot be saved is said now, and not after ten minutes.
    encoder = Encoder()
    for one in held:
        encoder.encode(one.take(), one.called)
    return held, loaders


def job_of(held: list[Held]) -> list[str]:
    """What tells this job's checkpoints from another's."""
    return [one.shape for one in held]


def difference(theirs: Any, ours: list[str]) -> str | None:
    """How another job's checkpoint differs; None where it is this job's."""
    if theirs == ours:
        return None
    if not isinstance(theirs, list) or len(theirs) != len(ours):
        count = len(theirs) if isinstance(theirs, list) else 0
        return f"it holds {count} objects, and this job has {len(ours)}"
    their, our = next((their, our) for their, our in zip(theirs, ours) if their != our)
    return f"it holds {their}, and this job has {our}"


def _is_loader(value: Any) -> bool:
    data: Any = sys.modules.get("torch.utils.data")
    return data is not None and isinstance(value, data.DataLoader) and not hasattr(value, "state_dict")


def _held(value: Any, called: str) -> Held:
    name = type(value).__name__
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Generator):
        return Held(called, value.get_state, value.set_state, False, name)
    if isinstance(value, random.Random):
        return Held(called, value.getstate, value.setstate, False, name)
    bits: Any = getattr(value, "bit_generator", None)
    if hasattr(bits, "state"):
        return Held(called, lambda: bits.state, lambda state: setattr(bits, "state", state), False, name)
    if not callable(getattr(value, "state_dict", None)) or not callable(getattr(value, "load_state_dict", None)):
        raise OomphError(
            f"a {name} cannot be saved: it has no state_dict() and load_state_dict(); plain values go into extra={{…}}"
        )
    if name in ("FullyShardedDataParallel", "DeepSpeedEngine"):
        raise OomphError(
            f"{called} is spread over the ranks: oomph.checkpoint saves models that every rank has whole (DDP); use "
            "torch.distributed.checkpoint for this one"
        )
    return Held(called, value.state_dict, value.load_state_dict, True, _shape(torch, value, name))


def _shape(torch: Any, value: Any, name: str) -> str:
    """A model by the names and shapes of its tensors, an optimizer by its groups, anything else by its class."""
    if torch is not None and isinstance(value, torch.nn.Module):
        tensors = {key: item for key, item in value.state_dict().items() if isinstance(item, torch.Tensor)}
        rows = [f"{key} {tuple(item.shape)} {item.dtype}" for key, item in tensors.items()]
        mark = blake2b("\n".join(rows).encode(), digest_size=4).hexdigest()
        return f"a {name} of {sum(item.numel() for item in tensors.values())} numbers ({mark})"
    groups = getattr(value, "param_groups", None)
    if isinstance(groups, list):
        counts = [str(len(group.get("params", []))) for group in groups if isinstance(group, dict)]
        return f"a {name} for {' + '.join(counts)} parameters"
    return f"a {name}"
