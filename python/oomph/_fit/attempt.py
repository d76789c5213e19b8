"""One run of a step: for its whole batch, or for a part of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from . import outputs
from .running import Part

if TYPE_CHECKING:
    from .runner import Runner


def whole(runner: Runner, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], trains: bool) -> Any:
    """The step's result for the whole batch, whose gradients stand alone: those of earlier steps are set aside."""
    gradients = runner.before.gradients
    if trains:
        gradients.set_aside()
    result = run(step, args, kwargs, Part(drop=gradients.drop), trains, runner.gather)
    return runner.gather([result]) if callable(runner.gather) else result


def run(
    step: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    part: Part,
    trains: bool,
    gather: Any,
    weigh: Callable[[int], float] | None = None,
) -> Any:
    """What the step gives for these arguments, without graphs. Where it trains and has not called backward itself, that is
    called for the loss that it gives, which counts as `weigh` says for the how many-th of its numbers it is."""
    with part:
        result = step(*args, **kwargs)
        found = outputs.loss_of(result) if trains and not part.backwards else None
        if found is not None:
            number, loss = found
            if weigh is not None:
                weight = weigh(number)
                part.weigh = lambda call: weight
            loss.backward()
    if type(result) is torch.Tensor and gather is None:
        return result.detach() if trains else result
    if not trains and gather is None:
        return result
    return outputs.detached(result, "cpu" if gather == "cpu" else None)
