"""Trainers that evaluate after so many batches: where their loop is cut before that, they evaluate at its end."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .hurry import Hurry


def watched(hurry: Hurry) -> dict[str, Callable[[Any], None]]:
    """Modules that are waited for."""
    return {
        "transformers.trainer_callback": functools.partial(_watch_hugging_face, hurry),
        "pytorch_lightning.loops.training_epoch_loop": functools.partial(_watch_lightning, hurry),
        "lightning.pytorch.loops.training_epoch_loop": functools.partial(_watch_lightning, hurry),
    }


def _watch_hugging_face(hurry: Hurry, module: Any) -> None:
    flow = module.DefaultFlowCallback
    original = flow.on_epoch_end

    @functools.wraps(original)
    def on_epoch_end(callback: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        found = original(callback, args, state, control, **kwargs)
        if hurry.is_on and str(getattr(args.eval_strategy, "value", args.eval_strategy)) != "no":
            found.should_evaluate = True
        return found

    flow.on_epoch_end = on_epoch_end


def _watch_lightning(hurry: Hurry, module: Any) -> None:
    loop = module._TrainingEpochLoop
    advance, is_due = loop.advance, loop._should_check_val_fx

    @functools.wraps(advance)
    def advance_to_evaluation(epoch: Any, data_fetcher: Any) -> None:
        try:
            advance(epoch, data_fetcher)
        except StopIteration:
            if hurry.is_on:
                # Lightning knows the last batch by the loader's length, which is as it was.
                epoch.batch_progress.is_last_batch = True
                epoch.on_advance_end(data_fetcher)
            raise

    @functools.wraps(is_due)
    def is_due_in_a_hurry(epoch: Any, data_fetcher: Any) -> bool:
        if hurry.is_on and epoch.batch_progress.is_last_batch and epoch.trainer.enable_validation:
            return True
        return bool(is_due(epoch, data_fetcher))

    loop.advance = advance_to_evaluation
    loop._should_check_val_fx = is_due_in_a_hurry
