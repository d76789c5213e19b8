"""`oomph fit` with Lightning and accelerate: micro-batches by their own arguments, where the parts give the batch's gradient."""

from __future__ import annotations

import json
from typing import Any

import pytest
from programs import Programs

# Activations of 12 MiB a sample, and weights that are small beside them.
MODEL = """
import logging, warnings
import torch
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
WIDTH = 1 << 17

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.linspace(0.1, 1.0, WIDTH))
        self.head = torch.nn.Linear(WIDTH, 2)
    def forward(self, x):
        x = x * self.scale
        for _ in range(12):
            x = torch.sin(torch.tanh(x))
        return self.head(x)

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, number):
        return torch.full((WIDTH,), number / 64.0), number % 2
sizes = set()
"""

LIGHTNING = MODEL + """
import pytorch_lightning
class Module(pytorch_lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()
    def training_step(self, batch, batch_idx):
        sizes.add(len(batch[0]))
        return LOSS(self.net(batch[0]), batch[1])
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1, foreach=False)
trainer = pytorch_lightning.Trainer(accelerator="gpu", devices=1, max_epochs=2, logger=False, enable_checkpointing=False,
                                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Module(), torch.utils.data.DataLoader(Rows(), batch_size=16))
print("trained", trainer.global_step, sizes)
"""

ACCELERATE = MODEL + """
from accelerate import Accelerator
accelerator = Accelerator()
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, foreach=False)
loader = torch.utils.data.DataLoader(Rows(), batch_size=16)
net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
updates = 0
for epoch in range(2):
    for x, y in loader:
        with accelerator.accumulate(net):
            sizes.add(len(x))
            accelerator.backward(LOSS(net(x), y))
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            updates += 1
print("trained", updates, sizes)
"""

MEAN = "torch.nn.functional.cross_entropy"
# Compares the samples of a batch with each other.
AMONG = "(lambda scores, y: torch.nn.functional.cross_entropy(scores, y) + scores.var())"


def fitted(programs: Programs, source: str, loss: str) -> tuple[Any, dict[str, Any]]:
    script = programs.write(f"LOSS = None\n{source}".replace("LOSS(", f"{loss}("))
    words = ["fit", "--python", programs.warm_python, "--phantom", "--json", "-o", "fit.json", "--limit", "120MiB"]
    ran = programs.start([programs.oomph, *words, "--without", "checkpointing", script.name], card=None)
    done = programs.end(ran)
    return done, json.loads((programs.folder / "fit.json").read_text())


@pytest.mark.parametrize(
    ("framework", "source", "by_hand"),
    [
        pytest.param(
            "pytorch_lightning",
            LIGHTNING,
            "DataLoader(batch_size={}) Trainer(accumulate_grad_batches={})",
            marks=pytest.mark.long,
        ),
        ("accelerate", ACCELERATE, "DataLoader(batch_size={}) Accelerator(gradient_accumulation_steps={})"),
    ],
)
def test_a_loop_is_cut_by_its_own_arguments(programs: Programs, framework: str, source: str, by_hand: str) -> None:
    pytest.importorskip(framework)
    done, answer = fitted(programs, source, MEAN)
    assert done.code == 0, (done, answer)
    [measure] = [each for each in answer["chosen"]["measures"] if each["what"].startswith("micro-batches")]
    parts = int(measure["what"].split(", ")[1].split()[0])
    assert parts > 1 and measure["do"] == by_hand.format(16 // parts, parts)
    # 64 rows in batches of 16, twice.
    assert done.stdout == f"trained 8 {{{16 // parts}}}\n"
    assert answer["chosen"]["peak_reserved"] <= 120 << 20


@pytest.mark.long
@pytest.mark.parametrize(("framework", "source"), [("pytorch_lightning", LIGHTNING), ("accelerate", ACCELERATE)])
def test_a_loss_among_samples_is_not_cut(programs: Programs, framework: str, source: str) -> None:
    pytest.importorskip(framework)
    done, answer = fitted(programs, source, AMONG)
    assert done.code == 1 and done.stdout == "", (done, answer)
    assert answer["offered"] == ["micro-batches: the gradient of a batch is not the mean of its parts' gradients"]
