"""What a plan sees of a script after its training stands still: evaluation, later phases, the end."""

from __future__ import annotations

import pathlib
import re
import time
from typing import Any

import pytest
from programs import Programs
from test_plan import plan

HEAD = """
import torch

class Data(torch.utils.data.Dataset):
    def __init__(self, count):
        self.count = count
    def __len__(self):
        return self.count
    def __getitem__(self, index):
        return torch.ones(256)

def loader(count, **options):
    return torch.utils.data.DataLoader(Data(count), batch_size=32, **options)

model = torch.nn.Linear(256, 8192).cuda()
optimizer = torch.optim.Adam(model.parameters())

def train(batches):
    model.train()
    total = 0
    for batch in batches:
        model(batch.cuda()).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        total += 1
    return total

"""
LINES = HEAD.count("\n")
CUT = "loops over a DataLoader were cut to a few batches after step 3, when the peak had stood still; "


def hurried(programs: Programs, source: str, *options: str) -> tuple[dict[str, Any], list[str], str]:
    """The answer, what it says of loops, and what the script printed."""
    done = plan(programs, HEAD + source, "--gpu", "T4", "--json", "--no-options", *options)
    assert done.code == 0, done.stderr
    answer = done.json()
    said = [caveat for caveat in answer["caveats"] if re.search("loop|stopped|failed", caveat)]
    return answer, said, done.stderr


EVALUATES = """
for epoch in range(3):
    train(loader(32 * 1000))
    model.eval()
    with torch.no_grad():
        logits = []
        for batch in loader(32 * 40):
            logits.append(model(batch.cuda()))
        print("evaluated", len(logits))
        del logits
print("end")
"""


def test_an_evaluation_that_keeps_its_logits_is_the_peak(programs: Programs) -> None:
    answer, said, printed = hurried(programs, EVALUATES)
    assert said == [f"{CUT}the script was seen to its end"]
    assert (answer["at"]["phase"], answer["at"]["line"]) == ("evaluation", LINES + 8)
    # All 40 batches: each keeps more than the one before.
    assert answer["peak_requested"] >= 40 * 32 * 8192 * 4
    assert printed.split()[:2] == ["evaluated", "40"] and printed.split()[-1] == "end"


def test_a_loop_that_keeps_more_than_can_be_seen_is_told(programs: Programs) -> None:
    source = EVALUATES.replace("loader(32 * 40)", "loader(32 * 10_000_000)")
    done = plan(programs, HEAD + source, "--gpu", "T4", "--json", "--no-options")
    answer = done.json()
    assert (done.code, answer["fits"]) == (3, None)
    kept = f"the loop at train.py:{LINES + 7} keeps 1.00 MiB with each batch"
    assert answer["why_not"] == f"{kept}, and all of its batches would not fit"
    assert any(caveat.startswith(f"{kept}: ") and "of its 10000000 batches" in caveat for caveat in answer["caveats"])


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("train(loader(3200))\nprint('end')", "the script was seen to its end"),
        ("for epoch in range(4_000):\n    train(loader(3200))", "the script was seen to its end"),
        ("train(loader(3200))\nraise SystemExit(3)", "the script was seen to its end"),
        (
            "train(loader(3200))\nresult = 1 / max(0, train([]))",
            f"the script was seen up to train.py:{LINES + 2}, which may need what was left out: "
            "ZeroDivisionError: division by zero",
        ),
        (
            "train(loader(3200))\nwhile True: torch.ones(9, device='cuda')",
            f"the script was seen up to train.py:{LINES + 2}, where the time was over",
        ),
        (
            "def forever():\n    while True:\n        yield from loader(3200)\ntrain(forever())",
            f"the script was seen up to train.py:{LINES + 3}, where it waits for more of them",
        ),
    ],
    ids=["end", "epochs", "code", "error", "time", "forever"],
)
def test_it_is_told_up_to_where_a_script_was_seen(programs: Programs, source: str, seen: str) -> None:
    began = time.monotonic()
    answer, said, printed = hurried(programs, source)
    assert said == [CUT + seen]
    assert "Traceback" not in printed and time.monotonic() - began < 25
    assert answer["peak_requested"] > 0


PLAIN = """
def step_once():
    model(torch.ones(32, 256, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()

def evaluate():
    model.eval()
    with torch.no_grad():
        kept = [model(torch.ones(4096, 256, device="cuda")) for _ in range(4)]
    model.train()
    print("evaluated")

"""
LEFT = re.compile(r"loops that train were left after step \d+, when the peak had stood still; the script was seen to its end")


@pytest.mark.parametrize(
    ("source", "evaluations"),
    [
        ("for step in range(10**9):\n    step_once()\nevaluate()", 1),
        ("step = 0\nwhile step < 10**9:\n    step += 1\n    step_once()\nevaluate()", 1),
        ("for step in range(10**9):\n    step_once()\nelse:\n    evaluate()", 1),
        ("for step in range(10**9):\n    with torch.enable_grad():\n        step_once()\nevaluate()", 1),
        ("def fit():\n    for step in range(10**9):\n        step_once()\n    return step\nfit()\nevaluate()", 1),
        ("if True:\n    for epoch in range(9):\n        for step in range(10**9):\n            step_once()\nevaluate()", 1),
        ("for epoch in range(10**9):\n    for step in range(10**9):\n        step_once()\n    evaluate()", 2),
    ],
    ids=["for", "while", "else", "with", "function", "nothing-behind", "epochs"],
)
def test_a_long_loop_without_a_loader_is_left_for_what_comes_after(programs: Programs, source: str, evaluations: int) -> None:
    answer, said, printed = hurried(programs, PLAIN + source)
    assert len(said) == 1 and LEFT.fullmatch(said[0])
    assert printed.split().count("evaluated") == evaluations
    assert answer["at"]["phase"] == "evaluation" and answer["peak_requested"] >= 4 * 4096 * 8192 * 4


@pytest.mark.parametrize("source", ["for step in range(10**9):\n    step_once()", "def main():\n    for step in range(10**9):\n        step_once()\nmain()"])
def test_a_loop_with_nothing_behind_it_is_the_end(programs: Programs, source: str) -> None:
    _, said, _ = hurried(programs, PLAIN + source)
    assert len(said) == 1 and LEFT.fullmatch(said[0])


def test_a_function_that_ends_with_its_loop_is_not_left(programs: Programs) -> None:
    source = "def fit():\n    for step in range(10**9):\n        step_once()\nfit()\nevaluate()"
    answer, said, printed = hurried(programs, PLAIN + source)
    stopped = r"stopped after step \d+, when the peak had stood still; what the script does later \(evaluate, save\) was not seen"
    assert len(said) == 1 and re.fullmatch(stopped, said[0])
    assert "evaluated" not in printed


def test_batches_that_go_round_are_left_too(programs: Programs) -> None:
    _, said, printed = hurried(programs, "import itertools\ntrain(itertools.cycle(loader(3200)))\nprint('end')")
    both = r"loops over a DataLoader were cut to a few batches after step 3, and others left after step \d+, when the peak had stood still"
    assert len(said) == 1 and re.fullmatch(f"{both}; the script was seen to its end", said[0])
    assert printed.split()[-1] == "end"


def test_a_short_loop_is_seen_to_its_end(programs: Programs) -> None:
    source = "for step in range(40):\n    step_once()\n    if step == 30:\n        evaluate()\nprint(step)"
    answer, said, printed = hurried(programs, PLAIN + source)
    assert (said, printed.split()) == ([], ["evaluated", "39"])
    assert answer["at"]["phase"] == "evaluation" and answer["steps"] == 40


def test_what_fails_late_is_told(programs: Programs) -> None:
    source = "for step in range(20):\n    step_once()\nprint([][0])"
    _, said, _ = hurried(programs, PLAIN + source)
    where = f"train.py:{LINES + PLAIN.count(chr(10)) + 3}"
    assert said == [f"the script failed at {where} after step 20, when the peak had stood still: IndexError: list index out of range"]


def test_a_script_that_puts_handlers_of_signals_back_goes_on(programs: Programs) -> None:
    # As Lightning does when its trainer ends, with those that it found in the beginning.
    source = """
import signal, time
train(loader(32 * 1000))
signal.signal(signal.SIGALRM, signal.SIG_DFL)
time.sleep(1)
print("slept")
"""
    _, said, printed = hurried(programs, source)
    assert said == [CUT + "the script was seen to its end"]
    assert "slept" in printed


COUNTED = """
def counted(steps):
    batches = iter(loader(32 * 100))
    for step in range(steps):
        model(next(batches).cuda()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return step + 1

def endless(steps):
    batches = iter(loader(32 * 100))
    for step in range(steps):
        try:
            batch = next(batches)
        except StopIteration:
            batches = iter(loader(32 * 100))
            batch = next(batches)
        model(batch.cuda()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return step + 1

print(counted(40), endless(12), len(list(loader(32 * 100))), sum(1 for batch in loader(32 * 100)))
big = torch.zeros(1 << 28, device="cuda")
print("end")
"""


def test_who_counts_batches_by_itself_gets_as_many_as_there_are(programs: Programs) -> None:
    answer, _, printed = hurried(programs, COUNTED)
    # Only a loop that notices the end of its data is cut.
    assert printed.splitlines()[-2:] == ["40 12 3 1", "end"]
    assert answer["peak_reserved"] > 1 << 30


def test_steps_that_are_asked_for_end_it(programs: Programs) -> None:
    answer, said, _ = hurried(programs, "train(loader(3200))", "--steps", "6")
    assert answer["steps"] == 6
    assert said == ["stopped after step 6, as asked; later steps may need more"]


def test_workers_end_with_their_loops(programs: Programs) -> None:
    source = """
import multiprocessing
for options in ({}, {"persistent_workers": True}, {"pin_memory": True}):
    train(loader(3200, num_workers=2, **options))
    print("workers", len(multiprocessing.active_children()))
class Endless(torch.utils.data.IterableDataset):
    def __iter__(self):
        while True:
            yield torch.ones(256)
print("endless", train(torch.utils.data.DataLoader(Endless(), batch_size=8, num_workers=1)))
"""
    _, said, printed = hurried(programs, source)
    assert said == [f"{CUT}the script was seen to its end"]
    counts = [line for line in printed.splitlines() if line.startswith(("workers", "endless"))]
    assert counts == ["workers 0", "workers 0", "workers 0", "endless 3"]


TRAINER = """
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4000
    def __getitem__(self, index):
        tokens = torch.randint(0, 5000, (64,))
        return {"input_ids": tokens, "labels": tokens}

arguments = TrainingArguments(
    "out", report_to=[], per_device_train_batch_size=2, per_device_eval_batch_size=32, eval_strategy="steps", eval_steps=500,
    LENGTH, load_best_model_at_end=True,
)
trainer = Trainer(GPT2LMHeadModel(GPT2Config(n_layer=1, vocab_size=5000)), arguments, train_dataset=Data(), eval_dataset=Data())
trainer.train()
print("trained")
trainer.evaluate()
print("end")
"""

LIGHTNING = """
import torch
import pytorch_lightning as lightning

class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 4096)
    def training_step(self, batch, index):
        loss = self.layer(batch[0]).square().mean()
        return loss
    def validation_step(self, batch, index):
        kept = [self.layer(batch[0]) for _ in range(40)]
        self.log("loss", kept[0].mean())
    def test_step(self, batch, index):
        print("tested", index)
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())

def loader(size):
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64 * size, 64)), batch_size=size)

keep = lightning.callbacks.ModelCheckpoint("out", monitor="loss")
trainer = lightning.Trainer(
    max_epochs=9, accelerator="gpu", devices=1, logger=False, callbacks=[keep], num_sanity_val_steps=0, check_val_every_n_epoch=5
)
trainer.fit(Model(), loader(8), loader(64))
trainer.test(dataloaders=loader(8))
print("end")
"""


@pytest.mark.parametrize(
    ("needs", "source", "line", "step"),
    [
        ("accelerate", TRAINER.replace("LENGTH", "num_train_epochs=3"), 17, 4),
        ("accelerate", TRAINER.replace("LENGTH", "max_steps=20_000"), 17, 4),
        ("pytorch_lightning", LIGHTNING, 14, 3),
    ],
    ids=["Trainer by epochs", "Trainer by steps", "Lightning"],
)
def test_trainers_evaluate_and_come_to_their_end(programs: Programs, needs: str, source: str, line: int, step: int) -> None:
    pytest.importorskip(needs)
    done = plan(programs, source, "--gpu", "T4", "--json", "--no-options")
    assert done.code == 0, done.stderr
    answer = done.json()
    said = [caveat for caveat in answer["caveats"] if "DataLoader" in caveat]
    assert said == [f"{CUT}the script was seen to its end".replace("step 3", f"step {step}")], done.stderr
    assert (answer["at"]["phase"], answer["at"]["line"]) == ("evaluation", line)
    assert done.stderr.rstrip().endswith("end")
    assert not list(pathlib.Path(programs.folder).rglob("*.ckpt"))
