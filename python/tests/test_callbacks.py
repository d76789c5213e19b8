"""The callbacks, in real trainings on the CPU; the figures are made up where there is no GPU."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from oomph import callbacks

KEYS = {"oomph/peak_allocated_gib", "oomph/peak_reserved_gib", "oomph/retries"}


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A GPU that takes 1 GiB more and retries once more with every look."""
    looks = iter(range(1, 10_000))

    def figures() -> dict[str, int]:
        n = next(looks)
        return {"peak_allocated": n << 30, "peak_reserved": (n + 1) << 30, "retries": n}

    monkeypatch.setattr(callbacks, "_torch", figures)
    yield


def test_figures_are_of_the_stretch_since_the_last_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OOMPH_RUN", raising=False)
    stats = {"allocated_bytes.all.peak": 3 << 30, "reserved_bytes.all.peak": 5 << 29, "num_alloc_retries": 4}
    calls: list[str] = []
    cuda = SimpleNamespace(
        is_initialized=lambda: True, memory_stats=lambda: stats, reset_peak_memory_stats=lambda: calls.append("reset")
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    figures = callbacks.Figures()
    stats["num_alloc_retries"] = 6
    expected = {"oomph/peak_allocated_gib": 3.0, "oomph/peak_reserved_gib": 2.5, "oomph/retries": 2}
    assert figures.take() == expected
    assert figures.take() == {**expected, "oomph/retries": 0}
    assert calls == ["reset"] * 3
    monkeypatch.setenv("OOMPH_RUN", "x")
    figures.take()
    assert len(calls) == 3


def test_nothing_is_imported_and_nothing_is_logged_without_a_gpu(run_python: Callable[..., str]) -> None:
    code = """
import sys
from oomph import callbacks
print(callbacks.Figures().take(), [name for name in ("torch", "transformers", "keras", "lightning") if name in sys.modules])
for name in ("transformers", "lightning", "pytorch_lightning", "keras"):
    sys.modules[name] = None
for name in ("HuggingFaceCallback", "LightningCallback", "KerasCallback"):
    try:
        getattr(callbacks, name)
    except ImportError as error:
        print(error)
"""
    assert run_python(code) == (
        "{} []\n"
        "oomph.callbacks.HuggingFaceCallback needs transformers, which is not installed: pip install transformers\n"
        "oomph.callbacks.LightningCallback needs lightning, which is not installed: pip install lightning\n"
        "oomph.callbacks.KerasCallback needs keras, which is not installed: pip install keras\n"
    )


def hugging_face(folder: pathlib.Path, *given: Any) -> Any:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate, which transformers trains with, is not installed")
    torch = pytest.importorskip("torch", reason="torch is not installed")

    class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x: Any, labels: Any) -> Any:
            return {"loss": (self.layer(x) - labels).pow(2).mean()}

    data = [{"x": torch.ones(4), "labels": torch.ones(1)}] * 8
    arguments = transformers.TrainingArguments(
        str(folder), max_steps=3, per_device_train_batch_size=2, logging_steps=1, report_to=[], use_cpu=True, disable_tqdm=True
    )
    return transformers.Trainer(Model(), arguments, train_dataset=data, callbacks=list(given))


def test_hugging_face_has_them_in_every_log(card: None, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    trainer = hugging_face(tmp_path, callbacks.HuggingFaceCallback)
    trainer.train()
    history = trainer.state.log_history
    steps = [entry for entry in history if "loss" in entry]
    assert len(steps) == 3
    # One look when the callback is made, one when the training begins.
    assert [entry["oomph/peak_allocated_gib"] for entry in steps] == [3.0, 4.0, 5.0]
    assert all(KEYS <= entry.keys() and entry["oomph/retries"] == 1 for entry in history)


def test_hugging_face_reports_them_if_attached(card: None, tmp_path: pathlib.Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    seen: list[set[str]] = []

    class Reporter(transformers.TrainerCallback):  # type: ignore[misc, name-defined]
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            seen.append(set(logs))

    trainer = callbacks.HuggingFaceCallback().attach(hugging_face(tmp_path, Reporter()))
    trainer.train()
    assert len(seen) == 4 and all(KEYS <= names for names in seen)


def test_hugging_face_trains_without_a_gpu(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if torch.cuda.is_initialized():
        pytest.skip("this process uses a GPU")
    trainer = hugging_face(tmp_path, callbacks.HuggingFaceCallback())
    trainer.train()
    assert not KEYS & {name for entry in trainer.state.log_history for name in entry}


def test_lightning_has_them_in_every_step(card: None, tmp_path: pathlib.Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    lightning: Any = None
    for name in ("lightning.pytorch", "pytorch_lightning"):
        try:
            lightning = lightning or __import__(name, fromlist=["Trainer"])
        except ImportError:
            continue
    if lightning is None:
        pytest.skip("lightning is not installed")
    seen: list[dict[str, float]] = []

    class Model(lightning.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch: Any, index: int) -> Any:
            return self.layer(batch).mean()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    class Reader(lightning.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, trainer: Any, *args: Any) -> None:
            seen.append({name: float(value) for name, value in trainer.callback_metrics.items()})

    trainer = lightning.Trainer(
        max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        accelerator="cpu", default_root_dir=tmp_path, callbacks=[callbacks.LightningCallback(), Reader()],
    )  # fmt: skip
    trainer.fit(Model(), torch.utils.data.DataLoader(torch.ones(6, 4), batch_size=2))
    assert [entry["oomph/peak_allocated_gib"] for entry in seen] == [3.0, 4.0, 5.0]
    assert all(KEYS <= entry.keys() for entry in seen)


def test_keras_has_them_in_its_history(card: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    keras = pytest.importorskip("keras", reason="keras is not installed")
    numpy = pytest.importorskip("numpy")
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    history = model.fit(numpy.ones((4, 2)), numpy.ones((4, 1)), epochs=2, verbose=0, callbacks=[callbacks.KerasCallback()])
    assert history.history["oomph/peak_allocated_gib"] == [3.0, 4.0]
    assert KEYS <= history.history.keys()


@pytest.mark.gpu
def test_figures_of_a_real_card() -> None:
    import torch

    torch.cuda.init()
    figures = callbacks.Figures()
    before = torch.cuda.memory_allocated()
    torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    found = figures.take()
    assert found["oomph/peak_allocated_gib"] == round(1 + before / 2**30, 4)
    assert found["oomph/retries"] == 0
