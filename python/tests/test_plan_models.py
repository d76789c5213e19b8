"""Plans of whole training jobs: beside what they held on a real card, and in the frameworks that people use."""

from __future__ import annotations

import json
import pathlib
import subprocess

import pytest

from programs import Programs

MEASURED = pathlib.Path(__file__).parent / "measured"

# Where fake tensors go astray: layers dropped at random, masks that choose a kernel. And one each of the common kinds.
JOBS = (
    "--model opt125m --batch 32 --length 256 --opt sgd --dtype fp16",
    "--model bart --batch 16 --length 128 --opt adam --dtype fp16",
    "--model regnet_y_400mf --batch 64 --opt adamw",
    "--model llama300m --batch 4 --length 512 --opt adamw",
    pytest.param("--model bert --batch 16 --length 384 --opt adamw --dtype fp16", marks=pytest.mark.long),
    pytest.param("--model resnet50 --batch 128 --opt momentum --dtype bf16", marks=pytest.mark.long),
    pytest.param("--model vit_b_16 --batch 128 --eval --dtype fp16", marks=pytest.mark.long),
)


def plan(programs: Programs, card: str, script: pathlib.Path, *words: str) -> tuple[int, dict[str, object], str]:
    options = ["--json", "--no-options", "--gpu", card, "--python", programs.warm_python]
    done = subprocess.run(
        [programs.oomph, "plan", *options, str(script), *words],
        cwd=programs.folder,
        env=programs.environment(None) | {"OOMPH_PHANTOM_LIB": programs.phantom, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("args", JOBS)
def test_a_plan_is_what_a_real_card_held(programs: Programs, args: str) -> None:
    pytest.importorskip("transformers")
    lines = (MEASURED / "h200.jsonl").read_text().splitlines()
    real = next(line for line in map(json.loads, lines) if line["args"] == args)
    code, found, said = plan(programs, "H200", MEASURED / "job.py", *args.split())
    assert (code, found["fits"]) == (0, True), f"{found['why_not']}\n{said}"
    for name, bound in (("peak_requested", 0.002), ("peak_allocated", 0.005), ("peak_reserved", 0.01)):
        held = found[name]
        assert isinstance(held, int)
        assert abs(held / real[name] - 1) <= bound, (name, held, real[name])


TRAINER = """
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 512
    def __getitem__(self, index):
        tokens = torch.randint(0, 50000, (128,))
        return {"input_ids": tokens, "labels": tokens}

arguments = TrainingArguments("out", per_device_train_batch_size=8, bf16=True, report_to=[], logging_steps=1)
Trainer(GPT2LMHeadModel(GPT2Config(n_layer=2)), arguments, train_dataset=Data()).train()
"""

LIGHTNING = """
import torch
import pytorch_lightning as lightning

class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 784))
    def training_step(self, batch, index):
        loss = torch.nn.functional.mse_loss(self.layers(batch[0]), batch[0])
        self.log("loss", loss)
        return loss
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)

data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(4096, 784)), batch_size=256)
trainer = lightning.Trainer(max_epochs=2, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False)
trainer.fit(Model(), data)
"""

CLASSIFIER = """
import torch, torchvision
from torchvision import transforms

data = torchvision.datasets.FakeData(128, (3, 224, 224), 10, transforms.ToTensor())
loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True, num_workers=1, pin_memory=True)
model = torchvision.models.resnet18(num_classes=10).to("cuda", memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
scaler = torch.amp.GradScaler("cuda")
for epoch in range(2):
    model.train()
    for images, labels in loader:
        images = images.to("cuda", non_blocking=True, memory_format=torch.channels_last)
        with torch.autocast("cuda"):
            loss = torch.nn.functional.cross_entropy(model(images), labels.to("cuda"), label_smoothing=0.1)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    model.eval()
    with torch.inference_mode():
        for images, _ in loader:
            model(images.to("cuda")).topk(5)
"""


@pytest.mark.parametrize(
    ("needs", "source"),
    [("accelerate", TRAINER), ("pytorch_lightning", LIGHTNING), ("torchvision", CLASSIFIER)],
    ids=["Trainer", "Lightning", "torchvision"],
)
def test_scripts_of_frameworks_are_planned_as_they_are(programs: Programs, needs: str, source: str) -> None:
    pytest.importorskip(needs)
    script = programs.write(source)
    code, found, said = plan(programs, "T4", script)
    assert (code, found["fits"]) == (0, True), f"{found['why_not']}\n{said}"
    by_class = found["by_class"]
    assert isinstance(by_class, dict) and by_class["optimizer_state"] > 0, by_class
