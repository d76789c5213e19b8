"""A Lightning `Trainer` whose batches do not fit: steps, schedule, logs and validation are those of a run with room."""

from __future__ import annotations

import pathlib
import warnings
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed here")
pytest.importorskip("pytorch_lightning", reason="pytorch_lightning is not installed here")

import pytorch_lightning
import torch
from fit_jobs import out_of_memory
from torch import nn

import oomph

torch.set_num_threads(1)
DATA = torch.utils.data.TensorDataset(
    torch.randn(30, 4, generator=torch.Generator().manual_seed(0)), torch.arange(30) % 3
)


class Module(pytorch_lightning.LightningModule):  # type: ignore[misc]
    """With room for so many samples at once."""

    def __init__(self, room: int) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.room = room
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        self.sizes: list[int] = []
        self.rates: list[float] = []

    def loss(self, batch: Any) -> Any:
        x, y = batch
        self.sizes.append(len(x))
        if len(x) > self.room:
            raise out_of_memory()
        return nn.functional.cross_entropy(self.layers(x), y)

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        loss = self.loss(batch)
        self.log("loss", loss, on_step=False, on_epoch=True)
        self.log_dict({"size": float(len(batch[0]))}, on_step=False, on_epoch=True, reduce_fx="max")
        return loss

    def validation_step(self, batch: Any, batch_idx: int) -> Any:
        self.log("validation", self.loss(batch))

    def on_train_batch_end(self, *args: Any) -> None:
        self.rates.append(self.lr_schedulers().get_last_lr()[0])

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def train(folder: pathlib.Path, room: int, *callbacks: Any, accumulate: int = 1) -> tuple[Any, dict[str, float]]:
    module = Module(room)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = pytorch_lightning.Trainer(
            max_epochs=2,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=folder,
            accumulate_grad_batches=accumulate,
            callbacks=list(callbacks),
        )
        loader = torch.utils.data.DataLoader(DATA, batch_size=8)
        trainer.fit(module, loader, loader)
    figures = {name: float(value) for name, value in trainer.callback_metrics.items()}
    return module, {**figures, "steps": trainer.global_step}


@pytest.mark.parametrize("accumulate", [1, 2])
def test_lightning_does_not_notice(tmp_path: pathlib.Path, accumulate: int) -> None:
    expected, figures = train(tmp_path, 100, accumulate=accumulate)
    found, cut_figures = train(tmp_path, 3, oomph.fit.lightning(), accumulate=accumulate)
    assert 8 in found.sizes and 2 in found.sizes
    assert found.rates == expected.rates
    cut_figures.pop("size"), figures.pop("size")
    assert cut_figures == pytest.approx(figures, rel=1e-5)
    pairs = zip(found.parameters(), expected.parameters())
    assert max(float((one - other).detach().abs().max()) for one, other in pairs) < 1e-6


class Found(Module):
    """Longer samples come after the batches that a finder tries; its loader has the size that was found."""

    def __init__(self, room: int) -> None:
        super().__init__(room)
        self.batch_size = 2

    def train_dataloader(self) -> Any:
        return torch.utils.data.DataLoader(DATA, batch_size=self.batch_size)

    val_dataloader = train_dataloader

    def loss(self, batch: Any) -> Any:
        # In the third batch of an epoch a sample takes as much as two.
        weight = 2 if self.trainer.global_step % 4 == 2 else 1
        x, y = batch
        self.sizes.append(len(x))
        if weight * len(x) > self.room:
            raise out_of_memory()
        return nn.functional.cross_entropy(self.layers(x), y)


def test_lightnings_own_finder_is_wrong_once_a_longer_sample_comes(tmp_path: pathlib.Path) -> None:
    from pytorch_lightning.callbacks import BatchSizeFinder

    def fitted(module: Found, *callbacks: Any) -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trainer = pytorch_lightning.Trainer(
                max_epochs=1, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
                enable_checkpointing=False, default_root_dir=tmp_path, limit_val_batches=0, callbacks=list(callbacks),
            )  # fmt: skip
            trainer.fit(module)
        return int(trainer.global_step)

    finder = BatchSizeFinder(steps_per_trial=1, init_val=2)
    with pytest.raises(RuntimeError, match="out of memory"):
        fitted(Found(9), finder)
    assert finder.optimal_batch_size == 8
    ours = Found(9)
    ours.batch_size = 8
    assert fitted(ours, oomph.fit.lightning()) == 4
    assert {8, 4} <= set(ours.sizes)
