"""Micro-batches through the arguments of Hugging Face's Trainer: batches become smaller, and so many more of them are
accumulated. Trainer counts labels over the whole batch, so that its mean is the same; schedule, logging and saving count
updates, which stay as many; samples come in the same order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def split_batches(arguments: Any, parts: int, found: dict[str, Any], remarks: list[str]) -> None:
    """Every TrainingArguments made from here on has batches of a `parts`-th of what the program says."""
    original = arguments.__post_init__

    @functools.wraps(original)
    def post_init(self: Any) -> None:
        if not getattr(self, "_oomph_split", False):
            self._oomph_split = True
            batch = self.per_device_train_batch_size
            found["trainer_batch"] = batch
            if batch % parts:
                remarks.append(f"not changed: a batch of {batch} has no {parts} equal parts")
            elif parts > 1:
                self.per_device_train_batch_size = batch // parts
                self.gradient_accumulation_steps *= parts
        original(self)

    arguments.__post_init__ = post_init


def note_loss(found: dict[str, Any], parts: int = 1) -> Callable[[Any], None]:
    """Notes whether the Trainer's mean over a batch stays the same when the batch is accumulated."""

    def at_import(module: Any) -> None:
        original = module.Trainer.train

        @functools.wraps(original)
        def train(self: Any, *args: Any, **kwargs: Any) -> Any:
            if parts > 1:
                _keep_batch(module.TrainerState, self.args.train_batch_size)
            found["counts_labels"] = bool(self.model_accepts_loss_kwargs or self.compute_loss_func is not None)
            return original(self, *args, **kwargs)

        module.Trainer.train = train

    return at_import


def _keep_batch(state: Any, batch: int) -> None:
    """Some Trainers take the size of their batches from a checkpoint: one that was made with whole batches does not undo the
    parts."""
    load_from_json = getattr(state, "_oomph_load", None) or state.load_from_json
    state._oomph_load = staticmethod(load_from_json)

    def load(path: Any) -> Any:
        loaded = load_from_json(path)
        loaded.train_batch_size = batch
        return loaded

    state.load_from_json = staticmethod(load)
