"""`oomph run --resume` with trainers that save by themselves: Hugging Face's and Lightning's. What takes minutes runs with
OOMPH_ATTACK=1."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import zipfile

import pytest

from oomph._recorder import whole

long = pytest.mark.long

# A small model of the T5 family with random weights, trained as everybody is told to.
MT5 = """
import hashlib, os, pathlib, sys
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import torch
torch.set_num_threads(1)
from transformers import MT5Config, MT5ForConditionalGeneration, Seq2SeqTrainer, Seq2SeqTrainingArguments, TrainerCallback, set_seed

set_seed(7)
config = MT5Config(vocab_size=50, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, decoder_start_token_id=0)
model = MT5ForConditionalGeneration(config)

class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 40
    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        words = torch.randint(1, 50, (6,), generator=generator)
        return {"input_ids": words, "attention_mask": torch.ones_like(words), "labels": words.flip(0)}

# Apart from the line that raises: a traceback quotes that.
errors = {"oom": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."), "bug": ValueError("a mistake")}

class Dies(TrainerCallback):
    def on_step_begin(self, args, state, control, **kwargs):
        marker = pathlib.Path("died")
        died = len(marker.read_text()) if marker.exists() else 0
        if died < int(sys.argv[2]) and state.global_step == int(sys.argv[1]):
            marker.write_text("x" * (died + 1))
            if sys.argv[3] == "kill":
                os.kill(os.getpid(), 9)
            raise errors[sys.argv[3]]

arguments = Seq2SeqTrainingArguments(
    output_dir="out", max_steps=14, per_device_train_batch_size=4, save_steps=4, save_total_limit=2, logging_steps=1,
    report_to=[], disable_tqdm=True, use_cpu=True, learning_rate=1e-2, seed=7, lr_scheduler_type="cosine",
)
trainer = Seq2SeqTrainer(model=model, args=arguments, train_dataset=Texts(), callbacks=[Dies()])
trainer.train()
tensors = b"".join(tensor.numpy().tobytes() for tensor in trainer.model.state_dict().values())
print("final", trainer.state.global_step, hashlib.sha256(tensors).hexdigest(), flush=True)
"""

LIGHTNING = """
import pathlib, sys, warnings
warnings.simplefilter("ignore")
import torch
torch.set_num_threads(1)
import pytorch_lightning as pl

pl.seed_everything(7, verbose=False)

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.3), torch.nn.Linear(16, 3))
    def training_step(self, batch, index):
        marker = pathlib.Path("died")
        if self.global_step == int(sys.argv[1]) and not marker.exists():
            marker.write_text("x")
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return torch.nn.functional.cross_entropy(self.layers(batch[0]), batch[1])
    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)

inputs = torch.randn(24, 8)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, torch.arange(24) % 3), batch_size=4)
model = Model()
trainer = pl.Trainer(
    max_epochs=4, accelerator="cpu", enable_progress_bar=False, enable_model_summary=False, logger=False,
    default_root_dir="out", callbacks=[pl.callbacks.ModelCheckpoint(save_top_k=1, monitor=None, every_n_epochs=1)],
)
trainer.fit(model, loader)
print("final", trainer.global_step, trainer.current_epoch, flush=True)
"""


class Ran:
    """What a script said under `oomph run`."""

    def __init__(self, oomph_bin: str, python: str, folder: pathlib.Path, script: str, *words: object, resume: int = 0) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "train.py").write_text(script)
        options = ["--resume", str(resume)] if resume else []
        done = subprocess.run(
            [oomph_bin, "run", *options, "--python", python, "train.py", *map(str, words)],
            cwd=folder,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=300,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "WANDB_DISABLED": "true"},
        )
        self.code = done.returncode
        self.final = [line for line in done.stdout.splitlines() if line.startswith("final ")]
        self.said = [line.removeprefix("oomph: ") for line in done.stderr.splitlines() if line.startswith("oomph: ")]
        self.stderr = done.stderr

    def __repr__(self) -> str:
        return f"{self.code}: {self.stderr}"


@pytest.fixture(scope="module")
def python(warm_python_alone: str) -> str:
    return warm_python_alone


@pytest.fixture(scope="module")
def undisturbed(oomph_bin: str, python: str, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """How the sequence-to-sequence model ends if nothing happens to it."""
    pytest.importorskip("transformers")
    ran = Ran(oomph_bin, python, tmp_path_factory.mktemp("undisturbed"), MT5, -1, 0, "oom")
    assert ran.code == 0 and len(ran.final) == 1, ran
    return ran.final


def test_the_usual_recipe_survives_running_out_of_memory(
    oomph_bin: str, python: str, undisturbed: list[str], tmp_path: pathlib.Path
) -> None:
    ran = Ran(oomph_bin, python, tmp_path, MT5, 10, 1, "oom", resume=2)
    assert (ran.code, ran.final) == (0, undisturbed), ran
    assert ran.said == [
        "started again (1 of 2) after step 10: it ran out of memory",
        "going on from out/checkpoint-8",
    ], ran


@long
def test_a_torn_checkpoint_of_a_trainer_is_passed_over(
    oomph_bin: str, python: str, undisturbed: list[str], tmp_path: pathlib.Path
) -> None:
    tears = {
        "model.safetensors": "model.safetensors is not as long as it says",
        "trainer_state.json": "it has no trainer_state.json, which is written last",
        "optimizer.pt": "optimizer.pt is cut off",
    }
    for number, (name, why) in enumerate(tears.items()):
        # The script tears its newest checkpoint before it dies, as a kill in the middle of a save does.
        tear = f"""
            path = pathlib.Path("out/checkpoint-8/{name}")
            if {name == "trainer_state.json"}:
                path.unlink()
            else:
                path.write_bytes(path.read_bytes()[:-100])
            if sys.argv[3] == "kill":"""
        script = MT5.replace('\n            if sys.argv[3] == "kill":', tear)
        assert script != MT5
        ran = Ran(oomph_bin, python, tmp_path / str(number), script, 9, 1, "kill", resume=1)
        assert (ran.code, ran.final) == (0, undisturbed), ran
        assert ran.said[-2:] == [f"out/checkpoint-8 is passed over: {why}", "going on from out/checkpoint-4"], ran


@long
def test_checkpoints_from_before_the_run_are_not_taken(
    oomph_bin: str, python: str, undisturbed: list[str], tmp_path: pathlib.Path
) -> None:
    assert Ran(oomph_bin, python, tmp_path, MT5, -1, 0, "oom").final == undisturbed
    for state in tmp_path.glob("out/checkpoint-*/trainer_state.json"):
        os.utime(state, (1e9, 1e9))
    ran = Ran(oomph_bin, python, tmp_path, MT5, 2, 1, "oom", resume=1)
    assert (ran.code, ran.final) == (0, undisturbed), ran
    assert ran.said[-1] == "no checkpoint of this job is in out: it begins anew", ran


def test_lightning_goes_on_from_its_own_checkpoint(oomph_bin: str, python: str, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("pytorch_lightning")
    ran = Ran(oomph_bin, python, tmp_path, LIGHTNING, 15, resume=2)
    assert (ran.code, ran.final) == (0, ["final 24 4"]), ran
    assert ran.said[0] == "started again (1 of 2) after step 15: it ran out of memory", ran
    assert re.fullmatch(r"going on from \S*/checkpoints/epoch=1-step=12\.ckpt", ran.said[1]), ran


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """A checkpoint as a Trainer leaves it, as far as its files can be told apart."""
    (tmp_path / "trainer_state.json").write_text('{"global_step": 8}')
    header = b'{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}'
    (tmp_path / "model-1.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(16))
    (tmp_path / "model.safetensors.index.json").write_text('{"weight_map": {"a": "model-1.safetensors"}}')
    with zipfile.ZipFile(tmp_path / "optimizer.pt", "w") as archive:
        archive.writestr("data", bytes(100))
    (tmp_path / "global_step8").mkdir()
    return tmp_path


def test_a_whole_checkpoint_is_told_from_a_torn_one(folder: pathlib.Path) -> None:
    assert whole.hugging_face(str(folder)) is None
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        data = path.read_bytes()
        for length in range(len(data)):
            path.write_bytes(data[:length])
            assert whole.hugging_face(str(folder)) is not None, (path, length)
        path.write_bytes(data)
    (folder / "model-1.safetensors").unlink()
    why = whole.hugging_face(str(folder))
    assert why == "model.safetensors.index.json names model-1.safetensors, which is not there"
    (folder / "trainer_state.json").unlink()
    assert whole.hugging_face(str(folder)) == "it has no trainer_state.json, which is written last"
