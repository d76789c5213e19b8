"""A plan computes nothing, so it saves nothing: what was saved before stays as it is."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from programs import Programs
from test_plan import plan

REAL = "real weights"

# A loop that saves over files that are there, in the ways that people write.
SAVES = """
import os, pathlib, shutil
import torch

model = torch.nn.Linear(512, 512).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(9):
    model(torch.randn(8, 512, device="cuda")).sum().backward()
    optimizer.step()
    torch.save({"model": model.state_dict(), "step": step}, "last.pt")
    torch.save(model.state_dict(), "best.pt.tmp")
    os.replace("best.pt.tmp", "best.pt")
    with open("open.pth", "wb") as file:
        torch.save(model.state_dict(), file)
    pathlib.Path("bytes.ckpt").write_bytes(b"invented")
    torch.save(model, "whole.pth.tar")
    shutil.copyfile("whole.pth.tar", "copy.pth.tar")
    torch.save(model.state_dict(), f"step{step}.pt")
    if step > 0:
        os.remove(f"step{step - 1}.pt")
    for old in sorted(pathlib.Path(".").glob("old*.pt"))[:-1]:
        old.unlink()
    if os.path.isdir("folder"):
        shutil.rmtree("folder")
    found = torch.load("last.pt", map_location="cuda")
    assert found["step"] == step and found["model"]["weight"].device.type == "cuda"
    model.load_state_dict(torch.load("best.pt"))
"""
OLD = ("last.pt", "best.pt", "open.pth", "bytes.ckpt", "copy.pth.tar", "step1.pt", "old1.pt", "old2.pt", "folder/a.pt")


def filled(folder: pathlib.Path, *names: str) -> dict[str, str]:
    """Files as an earlier run left them."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(REAL)
    return dict.fromkeys(names, REAL)


def found(folder: pathlib.Path) -> dict[str, str]:
    """All that is there now, but for the script and oomph's own."""
    files = (path for path in folder.rglob("*") if path.is_file() and ".oomph" not in path.parts)
    names = ((str(path.relative_to(folder)), path) for path in files)
    return {name: path.read_text(errors="replace") for name, path in names if name not in ("train.py", "own/.lock")}


def saved_at(answer: dict[str, Any]) -> list[str]:
    return [caveat for caveat in answer["caveats"] if caveat.startswith("nothing is saved")]


def test_files_of_weights_stay_as_they_are(programs: Programs) -> None:
    before = filled(programs.folder, *OLD)
    done = plan(programs, SAVES, "--gpu", "T4", "--json")
    assert done.code == 0, done.stderr
    assert saved_at(done.json()) == ["nothing is saved: a plan has no weights to save (train.py:10)"]
    assert found(programs.folder) == before


def test_nothing_is_saved_on_any_card_that_is_not_there(programs: Programs) -> None:
    before = filled(programs.folder, *OLD)
    done = programs.run(SAVES, "--phantom", card=None)
    assert (done.code, done.stdout) == (0, ""), done.stderr
    assert done.stderr.count("nothing is saved: on a card that is not there nothing is computed") == 1
    assert found(programs.folder) == before


def test_data_that_is_prepared_before_the_card_is_used_is_written(programs: Programs) -> None:
    source = """
        import os, torch
        if not os.path.exists("data.pt"):
            torch.save({"ids": torch.arange(1000), "name": "data"}, "data.pt.tmp")
            os.replace("data.pt.tmp", "data.pt")
        ids = torch.load("data.pt")["ids"]
        torch.nn.Linear(1000, 10).cuda()(ids.float().cuda())
        assert ids.sum() == 499500
        """
    done = plan(programs, source, "--gpu", "T4", "--json")
    assert done.code == 0, done.stderr
    assert saved_at(done.json()) == [] and list(found(programs.folder)) == ["data.pt"]


TRAINER = """
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        tokens = torch.randint(0, 1000, (32,))
        return {"input_ids": tokens, "labels": tokens}

arguments = TrainingArguments("out", report_to=[], save_steps=1, save_total_limit=1)
model = GPT2LMHeadModel(GPT2Config(n_layer=1, vocab_size=1000))
trainer = Trainer(model, arguments, train_dataset=Data())
trainer.train()
trainer.save_model()
trainer.save_state()
model.save_pretrained("out")
"""

LIGHTNING = """
import torch
import pytorch_lightning as lightning

class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 64)
    def training_step(self, batch, index):
        loss = self.layer(batch[0]).square().mean()
        self.log("loss", loss)
        return loss
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())

data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 64)), batch_size=8)
keep = lightning.callbacks.ModelCheckpoint("out", "{step}", monitor="loss", save_top_k=1, save_last=True, every_n_train_steps=1)
trainer = lightning.Trainer(max_epochs=2, accelerator="gpu", devices=1, logger=False, callbacks=[keep])
trainer.fit(Model(), data)
trainer.save_checkpoint("out/end.ckpt")
for path in ("out/end.ckpt", keep.best_model_path):
    assert tuple(Model.load_from_checkpoint(path, map_location="cpu").layer.weight.shape) == (64, 64)
"""

ACCELERATE = """
import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration

settings = ProjectConfiguration("out", automatic_checkpoint_naming=True, total_limit=1)
accelerator = Accelerator(project_config=settings)
model = torch.nn.Linear(64, 64)
model, optimizer = accelerator.prepare(model, torch.optim.Adam(model.parameters()))
for step in range(9):
    accelerator.backward(model(torch.randn(8, 64, device="cuda")).sum())
    optimizer.step()
    accelerator.save_state()
    accelerator.save_model(model, "out")
    accelerator.save(model.state_dict(), "out/model.pt")
"""

FOREIGN = """
import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import save_file, save_model
import oomph

model = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.Adam(model.parameters())
saved = oomph.checkpoint(model, optimizer, every=1, keep=1, folder="own")
for step in range(9):
    model(torch.randn(8, 64, device="cuda")).sum().backward()
    saved.step()
    optimizer.step()
    save_file(model.state_dict(), "model.safetensors")
    save_model(model, "model.safetensors")
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), "script.pt")
    torch.jit.script(torch.nn.Linear(2, 2)).save("script.pt")
    dcp.save({"model": model.state_dict()}, checkpoint_id="sharded")
    dcp.async_save({"model": model.state_dict()}, checkpoint_id="sharded").result()
    dcp.load({"model": model.state_dict()}, checkpoint_id="sharded")
"""


@pytest.mark.parametrize(
    ("needs", "source", "old", "line"),
    [
        (
            "accelerate",
            TRAINER,
            ("out/model.safetensors", "out/trainer_state.json", "out/checkpoint-1/model.safetensors", "out/checkpoint-9/optimizer.pt"),
            15,
        ),
        ("pytorch_lightning", LIGHTNING, ("out/step=1.ckpt", "out/last.ckpt", "out/end.ckpt"), 19),
        ("accelerate", ACCELERATE, ("out/checkpoints/checkpoint_7/model.safetensors", "out/model.pt"), 13),
        ("safetensors", FOREIGN, ("model.safetensors", "script.pt", "sharded/__0_0.distcp"), 12),
    ],
    ids=["Trainer", "Lightning", "accelerate", "safetensors"],
)
def test_frameworks_save_nothing_and_remove_nothing(
    programs: Programs, needs: str, source: str, old: tuple[str, ...], line: int
) -> None:
    pytest.importorskip(needs)
    before = filled(programs.folder, *old)
    done = plan(programs, source, "--gpu", "T4", "--json")
    assert done.code == 0, done.stderr
    assert saved_at(done.json()) == [f"nothing is saved: a plan has no weights to save (train.py:{line})"]
    assert found(programs.folder) == before


def test_a_model_that_was_saved_is_loaded_with_its_shapes(programs: Programs) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed here")
    source = """
        import os, torch
        from safetensors.torch import load_file, save_file
        from transformers import AutoConfig, AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, logging
        logging.disable_progress_bar()
        config = LlamaConfig(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4, vocab_size=3000)
        model = LlamaForCausalLM(config).cuda()
        for _ in range(2):
            model.save_pretrained("out/best", max_shard_size="2MB")
        print(os.path.exists("out"), AutoConfig.from_pretrained("out/best").hidden_size)
        again = AutoModelForCausalLM.from_pretrained("out/best", dtype=torch.bfloat16).cuda()
        shapes = lambda model: [tuple(each.shape) for each in model.parameters()]
        print(shapes(again) == shapes(model), again.dtype)
        save_file({"weight": model.lm_head.weight, "order": torch.arange(5)}, "one.safetensors")
        loaded = load_file("one.safetensors")
        print(tuple(loaded["weight"].shape), loaded["order"].tolist(), os.path.exists("one.safetensors"))
        """
    done = plan(programs, source, "--gpu", "T4", "--json")
    assert done.code == 0, done.stderr
    assert done.stderr.splitlines() == ["False 256", "True torch.bfloat16", "(3000, 256) [0, 1, 2, 3, 4] False"]
    assert any("nothing is saved" in caveat for caveat in done.json()["caveats"])
    assert found(programs.folder) == {}
    left = [path.name for path in programs.folder.joinpath(".oomph").rglob("*") if path.name.startswith("saved-")]
    assert left == []


def test_what_was_saved_is_there_for_the_program(programs: Programs) -> None:
    source = """
        import os, pathlib
        import torch
        model = torch.nn.Linear(512, 512).cuda()
        model(torch.ones(8, 512, device="cuda")).sum().backward()
        print(os.path.exists("best.pt"), pathlib.Path("whole.pt").is_file())
        torch.save(model.state_dict(), "best.pt")
        torch.save({"model": model, "epoch": 3}, "whole.pt")
        print(os.path.exists("best.pt"), pathlib.Path("whole.pt").is_file(), os.path.getsize("best.pt"))
        held = torch.cuda.memory_allocated()
        found = torch.load("whole.pt", weights_only=False, map_location="cpu")
        print(found["epoch"], found["model"].weight.device, found["model"].weight.shape, torch.cuda.memory_allocated() == held)
        again = torch.load("whole.pt", weights_only=False)["model"]
        print(again.weight is model.weight, again.weight.requires_grad, torch.cuda.memory_allocated() - held)
        os.remove("best.pt")
        print(os.path.exists("best.pt"), os.path.isfile("best.pt"))
        """
    done = plan(programs, source, "--gpu", "T4", "--json", "--no-options")
    assert done.code == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith("oomph: ")]
    assert lines == [
        "False False",
        f"True True {513 * 512 * 4}",
        "3 cpu torch.Size([512, 512]) True",
        f"False True {513 * 512 * 4}",
        "False False",
    ]
    assert not (programs.folder / "best.pt").exists() and not (programs.folder / "whole.pt").exists()
