"""Keras models on PyTorch: their steps, in parts where they do not fit."""

from __future__ import annotations

from typing import Any

import torch

from oomph._frameworks import framework
from oomph.fit import Fit

from .failures import Refusal
from .modules import BATCH_STATISTICS
from .running import now


def attach(model: Any, **options: Any) -> Any:
    """Makes the steps of a Keras model fit, and gives the model. `options` are those of `oomph.fit`.

    `fit`, `evaluate` and `predict` stay Keras' own. Metrics are updated once a batch, with the predictions of all of it,
    and so is the optimizer.
    """
    keras = framework("oomph.fit.keras", ("keras",))
    backend = keras.backend.backend()
    if backend != "torch":
        raise TypeError(f"oomph.fit.keras needs Keras on PyTorch (KERAS_BACKEND=torch); this is Keras on {backend}")
    if not isinstance(model, keras.Model):
        raise TypeError(f"oomph.fit.keras takes a keras.Model, not {model!r}")
    if not _is_keras_own(model, "train_step"):
        raise TypeError("oomph.fit.keras: this model has a train_step of its own; use oomph.fit inside it")
    steps = _Steps(keras, model, options)
    model.__dict__["train_step"] = steps.train
    for name, step in (("test_step", steps.test), ("predict_step", steps.predict)):
        if _is_keras_own(model, name):
            model.__dict__[name] = step
    return model


def _is_keras_own(model: Any, name: str) -> bool:
    return str(getattr(type(model), name).__module__).startswith("keras.")


class _Steps:
    """What stands in a model for its steps."""

    def __init__(self, keras: Any, model: Any, options: dict[str, Any]) -> None:
        self._keras = keras
        self._model = model
        self._options = options
        self._fits: dict[str, Fit] = {}

    def train(self, data: Any) -> Any:
        model = self._model
        if model.jit_compile:
            raise TypeError("oomph.fit.keras cannot repeat a compiled step: compile the model with jit_compile=False")
        x, y, weight = self._keras.utils.unpack_x_y_sample_weight(data)
        model.zero_grad()
        size = _size(x)

        def step(x: Any, y: Any, weight: Any) -> Any:
            self._check(x, size)
            predicted, loss = self._loss(x, y, weight, training=True)
            if model.trainable_weights:
                (loss if model.optimizer is None else model.optimizer.scale_loss(loss)).backward()
            return loss.detach(), predicted

        loss, predicted = self._fit("train")(step, x, y, weight)
        model._loss_tracker.update_state(loss, sample_weight=size)
        if model.trainable_weights:
            trained = model.trainable_weights[:]
            with torch.no_grad():
                model.optimizer.apply([each.value.grad for each in trained], trained)
        return model.compute_metrics(x, y, predicted, sample_weight=weight)

    def test(self, data: Any) -> Any:
        x, y, weight = self._keras.utils.unpack_x_y_sample_weight(data)

        def step(x: Any, y: Any, weight: Any) -> Any:
            predicted, loss = self._loss(x, y, weight, training=False)
            return loss, predicted

        loss, predicted = self._fit("test")(step, x, y, weight)
        self._model._loss_tracker.update_state(loss, sample_weight=_size(x))
        return self._model.compute_metrics(x, y, predicted, sample_weight=weight)

    def predict(self, data: Any) -> Any:
        x, _, _ = self._keras.utils.unpack_x_y_sample_weight(data)
        return self._fit("predict")(lambda x: self._called(x, training=False), x)

    def _loss(self, x: Any, y: Any, weight: Any, training: bool) -> tuple[Any, Any]:
        part = now()
        # Keras layers draw random numbers if they are told that they train, whatever mode they are in.
        training = training and not (part is not None and part.measures)
        predicted = self._called(x, training)
        loss = self._model._compute_loss(x=x, y=y, y_pred=predicted, sample_weight=weight, training=training)
        return predicted, loss

    def _called(self, x: Any, training: bool) -> Any:
        return self._model(x, training=training) if self._model._call_has_training_arg else self._model(x)

    def _check(self, x: Any, whole: int) -> None:
        """Refuses parts of a batch of so many samples whose statistics the model takes."""
        if _size(x) == whole or BATCH_STATISTICS in self._options.get("accept", ()):
            return
        kind = self._keras.layers.BatchNormalization
        if any(isinstance(layer, kind) and layer.trainable for layer in self._model._flatten_layers()):
            raise Refusal(
                "BatchNormalization takes statistics of the batch, which parts change: "
                f'accept="{BATCH_STATISTICS}" allows it, layer.trainable = False avoids it'
            )

    def _fit(self, name: str) -> Fit:
        if name not in self._fits:
            options = {**self._options, "model": self._model}
            options["keep"] = [*options.get("keep", ()), _State(self._model)]
            self._fits[name] = Fit(**options)
        return self._fits[name]


def _size(x: Any) -> int:
    """How many samples a batch has."""
    from keras import tree

    return int(next(each for each in tree.flatten(x) if each is not None).shape[0])


class _State:
    """What a forward pass of Keras changes, beside gradients: where its seeds stand, what its layers count, and the means
    of each output's loss."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def state_dict(self) -> dict[str, Any]:
        return {str(number): each.value.detach().clone() for number, each in enumerate(self._variables())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for number, each in enumerate(self._variables()):
            each.assign(state[str(number)])

    def _variables(self) -> list[Any]:
        found: list[Any] = []
        for layer in self._model._flatten_layers():
            # Weights that are only frozen are not among a layer's own.
            found += layer._non_trainable_variables
            found += [seed.state for seed in layer._seed_generators]
        trackers = self._model._compile_loss.metrics if self._model._compile_loss is not None else []
        found += [variable for tracker in trackers for variable in tracker.variables]
        return list({id(each): each for each in found}.values())
