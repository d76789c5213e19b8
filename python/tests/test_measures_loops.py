"""Micro-batches through the arguments of Lightning and accelerate: parameters, schedule and updates are those of whole
batches, or nothing is changed."""

from __future__ import annotations

import json
import pathlib
import subprocess
import textwrap
from typing import Any, NamedTuple

import pytest

pytest.importorskip("torch", reason="torch is not installed here")

SETUP = """
    import json, sys, torch
    from oomph._measures import Measures
    from oomph._recorder import imports
    torch.set_num_threads(1)
    asked = json.loads(sys.argv[1])
    measures = Measures(asked)
    measures.at_torch(torch)
    imports.watch({}, measures.watched())
    rows = torch.randn(32, 6, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(32) % 3
    data = torch.utils.data.TensorDataset(rows, labels)
    sizes, rates = [], []
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    def schedule_of(optimizer):
        return torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=20)
"""

END = """
    weights = torch.cat([each.detach().flatten() for each in net.parameters()]).tolist()
    print(json.dumps({"weights": weights, "sizes": sizes, "rates": rates, "updates": updates, "notes": measures.notes()}))
"""

LIGHTNING = """
    import pytorch_lightning, warnings, logging
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    class Module(pytorch_lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = net
        def training_step(self, batch, batch_idx):
            sizes.append(len(batch[0]))
            return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        def validation_step(self, batch, batch_idx):
            sizes.append(-len(batch[0]))
        def on_before_optimizer_step(self, optimizer):
            rates.append(optimizer.param_groups[0]["lr"])
        def configure_optimizers(self):
            optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
            return [optimizer], [dict(scheduler=schedule_of(optimizer), interval="step")]
        {more}
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True, drop_last=True)
    held_out = torch.utils.data.DataLoader(data, batch_size=16)
    torch.manual_seed(2)
    arguments = dict(max_epochs=3, accelerator="cpu", logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False)
    trainer = pytorch_lightning.Trainer(**{{**arguments, {arguments}}})
    trainer.fit(Module(), loader, held_out)
    updates = trainer.global_step
"""

ACCELERATE = """
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=True)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    schedule = schedule_of(optimizer)
    held_out = torch.utils.data.DataLoader(data, batch_size=16)
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
    model, optimizer, held_out, loader, schedule = accelerator.prepare(net, optimizer, held_out, loader, schedule)
    batches = len(loader)
    torch.manual_seed(2)
    updates = 0
    for epoch in range(3):
        for {target} in {source}:
            with accelerator.accumulate(model):
                x, y = batch
                sizes.append(len(x))
                loss = torch.nn.functional.cross_entropy(model(x), y)
                accelerator.backward(loss)
                {clip}
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                updates += 1
                rates.append(schedule.get_last_lr()[0])
            {more}
        for batch in held_out:
            sizes.append(-len(batch[0]))
    assert batches == 4, batches
"""


class Place(NamedTuple):
    """Where programs are run, and by which interpreter."""

    folder: pathlib.Path
    python: str


@pytest.fixture
def place(tmp_path: pathlib.Path, warm_python_alone: str) -> Place:
    return Place(tmp_path, warm_python_alone)


def ran(place: Place, source: str, asked: dict[str, Any]) -> tuple[int, Any, str]:
    """What a program did; its source is a file, which it may read."""
    script = place.folder / "train.py"
    script.write_text(textwrap.dedent(SETUP) + textwrap.dedent(source) + textwrap.dedent(END))
    words = [place.python, script.name, json.dumps(asked)]
    done = subprocess.run(words, cwd=place.folder, capture_output=True, text=True, timeout=300)
    lines = done.stdout.splitlines()
    return done.returncode, json.loads(lines[-1]) if done.returncode == 0 else None, done.stderr


def lightning(more: str = "", arguments: str = "") -> str:
    return LIGHTNING.format(more=more, arguments=arguments)


def accelerate(target: str = "batch", source: str = "loader", clip: str = "", more: str = "") -> str:
    return ACCELERATE.format(target=target, source=source, clip=clip, more=more)


def same(whole: Any, cut: Any) -> None:
    assert cut["updates"] == whole["updates"] and cut["rates"] == whole["rates"]
    assert cut["weights"] == pytest.approx(whole["weights"], abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ("'accumulate_grad_batches': 2", 4),
        pytest.param("", 8, marks=pytest.mark.long),
        pytest.param("'val_check_interval': 2, 'limit_train_batches': 3", 2, marks=pytest.mark.long),
    ],
)
def test_lightning_trains_the_same_in_parts(arguments: str, parts: int, place: Place) -> None:
    pytest.importorskip("pytorch_lightning")
    source = lightning(arguments=arguments)
    _, whole, _ = ran(place, source, {})
    assert whole["notes"]["trainer_batch"] == whole["notes"]["equal_parts"] == 8
    assert whole["notes"]["loop"] == "lightning" and "why_whole" not in whole["notes"]
    code, cut, said = ran(place, source, {"micro_batches": parts, "equal_labels": True})
    assert code == 0, said
    same(whole, cut)
    # Validation comes after as many updates, with its own batches.
    expected = [size for each in whole["sizes"] for size in ([each // parts] * parts if each > 0 else [each])]
    assert cut["sizes"] == expected


@pytest.mark.parametrize(
    ("more", "arguments", "why"),
    [
        ("def on_train_batch_end(self, *args): pass", "", "Module.on_train_batch_end runs for every batch"),
        pytest.param(
            "",
            "'limit_train_batches': 0.5",
            "limit_train_batches=0.5 is a share of the batches",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "def training_step(self, batch, batch_idx): return self.net(batch[0]).sum() * batch_idx",
            "",
            "training_step uses batch_idx, which counts batches",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_lightning_loop_that_minds_batches_is_left_alone(
    more: str, arguments: str, why: str, place: Place
) -> None:
    pytest.importorskip("pytorch_lightning")
    code, whole, said = ran(place, lightning(more, arguments), {})
    assert code == 0, said
    assert whole["notes"]["why_whole"] == why and "trainer_batch" not in whole["notes"]
    code, _, said = ran(place, lightning(more, arguments), {"micro_batches": 2})
    assert code == 1 and f"oomph fit: no micro-batches: {why}" in said


@pytest.mark.long
def test_a_last_batch_without_equal_parts_is_not_cut(place: Place) -> None:
    pytest.importorskip("pytorch_lightning")
    source = lightning().replace("drop_last=True", "drop_last=False").replace("batch_size=8", "batch_size=7")
    _, whole, _ = ran(place, source, {})
    assert whole["notes"]["why_whole"].startswith("the last batch of an epoch has no equal parts")
    # 32 rows in batches of 12 end with 8: 2 and 4 parts are equal.
    source = lightning().replace("drop_last=True", "drop_last=False").replace("batch_size=8", "batch_size=12")
    _, whole, _ = ran(place, source, {})
    assert whole["notes"]["equal_parts"] == 4
    same(whole, ran(place, source, {"micro_batches": 4})[1])


@pytest.mark.parametrize("loop", [pytest.param(lightning(), marks=pytest.mark.long), accelerate()])
def test_labels_that_are_left_out_end_the_run_before_a_wrong_update(loop: str, place: Place) -> None:
    pytest.importorskip("pytorch_lightning"), pytest.importorskip("accelerate")
    source = "    labels[20] = -100\n" + loop
    asked = {"micro_batches": 2, "equal_labels": True, "loader": 1}
    assert ran(place, source, {})[0] == 0
    code, _, said = ran(place, source, asked)
    assert code == 1 and "the loss leaves labels out (ignore_index)" in said


CLIP = "if accelerator.sync_gradients: accelerator.clip_grad_norm_(model.parameters(), 0.1)"


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ({"clip": CLIP}, 4),
        pytest.param({}, 8, marks=pytest.mark.long),
        pytest.param({"target": "_, batch", "source": "enumerate(loader)"}, 2, marks=pytest.mark.long),
    ],
)
def test_accelerate_trains_the_same_in_parts(words: dict[str, str], parts: int, place: Place) -> None:
    pytest.importorskip("accelerate")
    source = accelerate(**words)
    _, whole, said = ran(place, source, {})
    notes = whole["notes"]
    assert (notes["loop"], notes["trainer_batch"], notes["loader"]) == ("accelerate", 8, 1), notes
    code, cut, said = ran(place, source, {"micro_batches": parts, "loader": 1, "equal_labels": True})
    assert code == 0, said
    same(whole, cut)
    expected = [size for each in whole["sizes"] for size in ([each // parts] * parts if each > 0 else [each])]
    assert cut["sizes"] == expected


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"target": "number, batch", "source": "enumerate(loader)", "more": "if number > 9: break"}, "counts batches"),
        ({"target": "batch", "source": "iter(loader)"}, "how the loop takes its batches is not known"),
    ],
)
def test_an_accelerate_loop_that_counts_is_left_alone(words: dict[str, str], why: str, place: Place) -> None:
    pytest.importorskip("accelerate")
    _, whole, said = ran(place, accelerate(**words), {})
    assert why in whole["notes"]["why_whole"] and "trainer_batch" not in whole["notes"]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("model, optimizer, held_out, loader, schedule = acc", "model, optimizer, held_out, loader, _ = acc", "a schedule steps"),
        ("model, optimizer, held_out, loader, schedule = acc", "model, _, held_out, loader, schedule = acc", "an optimizer steps"),
        ("optimizer.step()", "accelerator.clip_grad_norm_(model.parameters(), 0.1); optimizer.step()", "gradients are clipped"),
    ],
)
def test_what_steps_with_every_batch_is_not_cut(before: str, after: str, why: str, place: Place) -> None:
    pytest.importorskip("accelerate")
    code, _, said = ran(place, accelerate().replace(before, after), {"micro_batches": 2, "loader": 1})
    assert code == 1 and why in said, said


def gradients(place: Place, source: str, parts: int) -> list[float]:
    asked = {"micro_batches": parts, "proof": 8, "loader": 1, "equal_labels": True}
    code, found, said = ran(place, source, asked)
    assert code == 0, said
    return [float(number) for number in found["notes"]["gradients"]]


@pytest.mark.parametrize("loop", [pytest.param(lightning(), marks=pytest.mark.long), accelerate()])
def test_gradients_tell_a_mean_over_samples_from_another_loss(loop: str, place: Place) -> None:
    pytest.importorskip("pytorch_lightning"), pytest.importorskip("accelerate")
    dropping = loop.replace("cross_entropy(", "cross_entropy(0 * torch.nn.functional.dropout(torch.rand(())) + ")
    assert gradients(place, dropping, 2) == pytest.approx(gradients(place, dropping, 1), rel=1e-4, abs=1e-7)
    # A loss that compares samples with each other.
    among = loop.replace("batch[1])", "batch[1]) + self.net(batch[0]).var()").replace("(x), y)", "(x), y) + model(x).var()")
    assert gradients(place, among, 2) != pytest.approx(gradients(place, among, 1), rel=1e-2)
