"""A `transformers.Trainer` whose batches do not fit: schedule, number of steps, logs and evaluation are those of a run with
room for all of it."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed here")
pytest.importorskip("transformers", reason="transformers is not installed here")

import torch
import transformers
from fit_jobs import out_of_memory

import oomph

torch.set_num_threads(1)
PAD = 0


class Sentences(torch.utils.data.Dataset):  # type: ignore[misc]
    """Sentences of different lengths, padded, with labels that pass over the padding."""

    def __len__(self) -> int:
        return 22

    def __getitem__(self, number: int) -> dict[str, Any]:
        generator = torch.Generator().manual_seed(number)
        length = 3 + number % 7
        words = torch.full((10,), PAD)
        words[:length] = torch.randint(1, 20, (length,), generator=generator)
        mask = (torch.arange(10) < length).long()
        return {"input_ids": words, "attention_mask": mask, "labels": torch.where(mask.bool(), words, -100)}


def train(folder: pathlib.Path, room: int, with_oomph: bool, **arguments: Any) -> tuple[Any, list[int]]:
    """A run on a card with room for so many samples, in training and evaluation."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=20, n_positions=16, n_embd=8, n_layer=1, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0
    )
    model = transformers.GPT2LMHeadModel(config)
    sizes = []

    def take(module: Any, args: Any, kwargs: Any) -> None:
        size = len(kwargs["input_ids"])
        sizes.append(size)
        if size > room:
            raise out_of_memory()

    model.register_forward_pre_hook(take, with_kwargs=True)
    trainer = transformers.Trainer(
        model,
        transformers.TrainingArguments(
            str(folder),
            per_device_train_batch_size=8,
            per_device_eval_batch_size=11,
            learning_rate=1e-2,
            warmup_steps=1,
            lr_scheduler_type="linear",
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
            seed=1,
            **{"num_train_epochs": 2, "eval_strategy": "epoch", **arguments},
        ),
        train_dataset=Sentences(),
        eval_dataset=Sentences(),
    )
    if with_oomph:
        oomph.fit.trainer(trainer)
    trainer.train()
    return trainer, sizes


def figures(trainer: Any, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(entry.get(name) for name in names) for entry in trainer.state.log_history]


@pytest.mark.parametrize("accumulation", [1, 2])
def test_a_trainer_does_not_notice(tmp_path: pathlib.Path, accumulation: int) -> None:
    arguments = {"gradient_accumulation_steps": accumulation}
    expected, _ = train(tmp_path, 100, False, **arguments)
    found, sizes = train(tmp_path, 5, True, **arguments)
    assert max(sizes) == 11 and min(sizes) < 5
    for exact in (("step", "epoch", "learning_rate"),):
        assert figures(found, *exact) == figures(expected, *exact)
    assert found.state.global_step == expected.state.global_step == found.state.max_steps
    for name in ("loss", "eval_loss"):
        one, other = ([value for (value,) in figures(run, name) if value is not None] for run in (found, expected))
        assert len(one) > 1 and one == pytest.approx(other, rel=2e-4)
    pairs = zip(found.model.parameters(), expected.model.parameters())
    assert max(float((one - other).detach().abs().max()) for one, other in pairs) < 2e-5


def test_trainers_own_finder_changes_the_training(tmp_path: pathlib.Path) -> None:
    """`auto_find_batch_size` begins anew with smaller batches: more updates, each at another learning rate."""
    never = {"eval_strategy": "no", "num_train_epochs": 1}
    expected, _ = train(tmp_path, 100, False, **never)
    ours, _ = train(tmp_path, 5, True, **never)
    theirs, sizes = train(tmp_path, 5, False, auto_find_batch_size=True, **never)
    rates = [figures(run, "step", "learning_rate") for run in (expected, ours, theirs)]
    assert rates[0] == rates[1] != rates[2]
    assert expected.state.global_step == ours.state.global_step == 3 < theirs.state.global_step, sizes


def test_evaluation_is_complete(tmp_path: pathlib.Path) -> None:
    trainer, _ = train(tmp_path, 5, True, max_steps=1)
    predicted = trainer.predict(Sentences())
    assert predicted.predictions.shape == (22, 10, 20)
    # It is that of a model with room for all.
    trainer.model._forward_pre_hooks.clear()
    trainer.model._forward_pre_hooks_with_kwargs.clear()
    whole = trainer.predict(Sentences())
    assert predicted.predictions == pytest.approx(whole.predictions, abs=1e-5)
    assert predicted.metrics["test_loss"] == pytest.approx(whole.metrics["test_loss"], rel=1e-5)


def test_only_a_trainer_is_taken() -> None:
    with pytest.raises(TypeError, match="^oomph.fit.trainer takes a transformers.Trainer, not 3$"):
        oomph.fit.trainer(3)
