"""A Keras model whose batches do not fit: weights, metrics and logs are those of a run with room."""

from __future__ import annotations

import os
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed here")
os.environ.setdefault("KERAS_BACKEND", "torch")
keras: Any = pytest.importorskip("keras", reason="keras is not installed here")
if keras.backend.backend() != "torch":
    pytest.skip("Keras is not on PyTorch here", allow_module_level=True)

import numpy
import torch
from fit_jobs import out_of_memory

import oomph

torch.set_num_threads(1)
ROWS = 30
X = numpy.random.default_rng(0).normal(size=(ROWS, 4)).astype("float32")
Y = numpy.arange(ROWS) % 3
WEIGHTS = numpy.linspace(0.2, 2.0, ROWS).astype("float32")


class Card(keras.layers.Layer):  # type: ignore[misc]
    """Room for so many samples at once."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room
        self.sizes: list[int] = []

    def call(self, x: Any) -> Any:
        if x.device.type != "meta":
            self.sizes.append(len(x))
            if len(x) > self.room:
                raise out_of_memory()
        return x


def made(room: int, *layers: Any, **options: Any) -> tuple[Any, Card]:
    keras.utils.set_random_seed(1)
    card = Card(room)
    inputs = keras.Input((4,))
    x = keras.layers.Dense(8, activation="tanh", kernel_regularizer="l2")(card(inputs))
    for layer in layers:
        x = layer(x)
    model = keras.Model(inputs, keras.layers.Dense(3)(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    options = {"loss": loss, "metrics": ["accuracy"], "weighted_metrics": ["accuracy"], **options}
    model.compile(keras.optimizers.Adam(0.01), jit_compile=False, **options)
    return model, card


def trained(model: Any, weights: Any = WEIGHTS) -> tuple[dict[str, list[float]], list[Any]]:
    history = model.fit(
        X, Y, sample_weight=weights, batch_size=8, epochs=3, verbose=0, validation_data=(X, Y), validation_batch_size=16
    )
    return history.history, [numpy.array(each) for each in model.get_weights()]


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_keras_does_not_notice(weights: Any) -> None:
    figures, expected = trained(made(100)[0], weights)
    model, card = made(3)
    same_figures, found = trained(oomph.fit.keras(model), weights)
    assert 8 in card.sizes and 2 in card.sizes
    assert list(same_figures) == list(figures)
    for name, values in figures.items():
        assert same_figures[name] == pytest.approx(values, rel=1e-5), name
    assert max(abs(one - other).max() for one, other in zip(found, expected)) < 1e-6
    assert int(model.optimizer.iterations.value) == 12


def test_predictions_are_joined() -> None:
    model, card = made(100)
    whole = model.predict(X, batch_size=30, verbose=0)
    card.room = 4
    parts = oomph.fit.keras(model).predict(X, batch_size=30, verbose=0)
    assert abs(whole - parts).max() < 1e-6


def test_dropout_draws_the_numbers_of_batches_that_are_cut_from_the_start() -> None:
    """What failed attempts drew is put back, seeds of Keras' own included."""

    def run(room: int, parts: int | None) -> tuple[list[Any], list[int]]:
        model, card = made(room, keras.layers.Dropout(0.3, seed=5), keras.layers.Dropout(0.3))
        oomph.fit.keras(model, parts=parts).fit(X[:24], Y[:24], batch_size=8, epochs=2, verbose=0)
        return [numpy.array(each) for each in model.get_weights()], card.sizes

    (expected, _), (found, sizes) = run(100, 4), run(2, None)
    assert 8 in sizes
    for one, other in zip(found, expected, strict=True):
        assert (one == other).all()


def test_batch_statistics_are_not_changed() -> None:
    model, _ = made(3, keras.layers.BatchNormalization())
    with pytest.raises(torch.OutOfMemoryError) as caught:
        trained(oomph.fit.keras(model))
    assert "BatchNormalization takes statistics of the batch" in "".join(caught.value.__notes__)


def test_what_cannot_be_repeated_is_refused_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(keras.Model):  # type: ignore[misc]
        def train_step(self, data: Any) -> Any:
            return {}

    with pytest.raises(TypeError, match="this model has a train_step of its own; use oomph.fit inside it"):
        oomph.fit.keras(Own())
    with pytest.raises(TypeError, match="takes a keras.Model, not 3"):
        oomph.fit.keras(3)
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(TypeError, match="this is Keras on jax"):
        oomph.fit.keras(made(3)[0])
