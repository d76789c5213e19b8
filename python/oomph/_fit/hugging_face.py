"""`transformers.Trainer`: its steps, in parts where they do not fit."""

from __future__ import annotations

from typing import Any

import torch

from oomph.fit import Fit


def attach(trainer: Any, **options: Any) -> Any:
    """Makes a trainer's training and prediction steps fit, and gives the trainer.

    The loop stays the trainer's own: its batches, `max_steps`, schedule, logs and checkpoints do not notice. The loss that
    is logged is the whole batch's. `options` are those of `oomph.fit`.
    """
    if not hasattr(trainer, "training_step") or not hasattr(trainer, "prediction_step"):
        raise TypeError(f"oomph.fit.trainer takes a transformers.Trainer, not {trainer!r}")
    _Steps(trainer, options)
    return trainer


class _Steps:
    """What stands in a trainer for its two steps."""

    def __init__(self, trainer: Any, options: dict[str, Any]) -> None:
        self._trainer = trainer
        self._options = options
        self._train: Any = trainer.training_step
        self._predict: Any = trainer.prediction_step
        # The model is wrapped when training begins, and perhaps again for an evaluation.
        self._fits: dict[tuple[str, int], tuple[Any, Fit]] = {}
        trainer.training_step = self.training_step
        trainer.prediction_step = self.prediction_step

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        def step(inputs: Any, items: Any) -> Any:
            return self._train(model, inputs, items)

        fit = self._fit("train", model, optimizer=self._trainer.optimizer)
        return fit(step, inputs, num_items_in_batch)

    def prediction_step(self, model: Any, inputs: Any, prediction_loss_only: bool, ignore_keys: Any = None) -> Any:
        def step(inputs: Any) -> Any:
            return self._predict(model, inputs, prediction_loss_only, ignore_keys)

        with torch.no_grad():
            return self._fit("predict", model)(step, inputs)

    def _fit(self, kind: str, model: Any, **more: Any) -> Fit:
        key = (kind, id(model))
        if key not in self._fits:
            self._fits[key] = (model, Fit(split=[0], **{**self._options, "model": model, **more}))
        return self._fits[key][1]
