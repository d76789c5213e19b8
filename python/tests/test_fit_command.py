"""`oomph fit`: the cheapest measures under which a script fits, found on the phantom GPU and run with."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from programs import Programs

MIB = 1 << 20

# Activations of 12 blocks, 32 MiB each at a batch of 32, and weights that are small beside them.
SCRIPT = """
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--accum", type=int, default=1)
arguments = parser.parse_args()

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1 << 16))
        self.inner = torch.nn.Tanh()
    def forward(self, x):
        return x + self.inner(torch.sin(torch.cos(x * self.scale)))

model = torch.nn.Sequential(*[Block() for _ in range(12)]).to("cuda")
optimizer = torch.optim.Adam(model.parameters())
for step in range(6):
    for part in range(arguments.accum):
        loss = model(torch.ones(arguments.batch, 1 << 16, device="cuda")).sum()
        (loss / arguments.accum).backward()
    optimizer.step()
    optimizer.zero_grad()
print("trained", arguments.batch, arguments.accum)
"""


def fitted(programs: Programs, *options: str, args: tuple[str, ...] = ()) -> tuple[int, dict[str, Any]]:
    """The exit code of `oomph fit --dry-run --json`, and its answer."""
    script = programs.write(SCRIPT)
    words = ["fit", "--python", programs.warm_python, "--dry-run", "--json", *options, script.name, *args]
    done = programs.end(programs.start([programs.oomph, *words], card=None))
    assert done.stderr == "", done
    return done.code, json.loads(done.stdout)


def whats(tried: dict[str, Any]) -> list[str]:
    return [measure["what"] for measure in tried["measures"]]


def test_as_few_blocks_are_checkpointed_as_it_takes(programs: Programs) -> None:
    code, free = fitted(programs, "--gpu", "T4")
    assert (code, free["fits"], free["chosen"]["measures"], len(free["tried"])) == (0, True, [], 1)
    limit = free["peak_reserved"] * 7 // 10
    code, answer = fitted(programs, "--limit", str(limit), "--without", "settings")
    chosen = answer["chosen"]
    assert (code, answer["fits"]) == (0, True)
    [what] = whats(chosen)
    assert what.startswith("checkpointing of ") and what.endswith(" of 12 blocks")
    blocks = int(what.split()[2])
    assert 0 < blocks < 12
    assert chosen["peak_reserved"] <= limit
    # One block fewer was tried, and does not fit: so the choice is the cheapest.
    fewer = [tried for tried in answer["tried"] if f"checkpointing of {blocks - 1} of 12 blocks" in whats(tried)]
    assert fewer and not any(tried["fits"] for tried in fewer)
    assert all(not tried["fits"] for tried in answer["tried"] if tried["costs"] < chosen["costs"])


def test_micro_batches_by_the_flags_of_the_script_are_run_with(programs: Programs) -> None:
    flags = ("--without", "checkpointing", "--vary", "--batch", "--accumulate", "--accum")
    script = programs.write(SCRIPT)
    _, free = fitted(programs, "--gpu", "T4")
    limit = free["peak_reserved"] * 6 // 10
    words = ["fit", "--python", programs.warm_python, "--phantom", "--json", "-o", "fit.json", "--limit", str(limit)]
    ran = programs.start([programs.oomph, *words, *flags, script.name, "--batch", "32"], card=None)
    done = programs.end(ran)
    assert done.code == 0, done
    answer = json.loads((programs.folder / "fit.json").read_text())
    assert whats(answer["chosen"]) == ["micro-batches of 16, 2 for each batch"]
    assert done.stdout == "trained 16 2\n"
    # What was planned is what the run held.
    summary = json.loads((done.run() / "main.json").read_text())
    assert summary["devices"][0]["peak_reserved"] == answer["chosen"]["peak_reserved"]
    # The next time the answer is known.
    again = programs.end(
        programs.start([programs.oomph, *words, "--force", *flags, script.name, "--batch", "32"], card=None)
    )
    known = json.loads((programs.folder / "fit.json").read_text())
    assert (again.code, known["chosen"]) == (0, answer["chosen"])
    assert "found by an earlier search; --again searches again" in known["caveats"]


# A step needs 600 MiB, then 700: the cache of one does not serve the other, and is given back once where both do not fit.
CACHED = """
import torch

weight = torch.nn.Parameter(torch.ones(8, device="cuda"))
optimizer = torch.optim.SGD([weight], lr=0.1)
for step in range(6):
    for size in (600, 700):
        buffer = torch.empty(size << 20, dtype=torch.uint8, device="cuda")
        del buffer
    (weight * 2).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_what_is_held_where_the_cache_is_given_back_is_planned(programs: Programs) -> None:
    script = programs.write(CACHED)
    words = ["fit", "--python", programs.warm_python, "--phantom", "--json", "-o", "fit.json", "--limit", "1000MiB"]
    done = programs.end(programs.start([programs.oomph, *words, script.name], card=None))
    assert done.code == 0, done
    answer = json.loads((programs.folder / "fit.json").read_text())
    summary = json.loads((done.run() / "main.json").read_text())
    assert (answer["peak_reserved"], answer["chosen"]["measures"]) == (1302 * MIB, [])
    assert answer["chosen"]["peak_reserved"] == summary["devices"][0]["peak_reserved"] == 702 * MIB


def test_where_nothing_suffices_the_least_is_said_and_nothing_is_run(programs: Programs) -> None:
    script = programs.write(SCRIPT)
    words = ["fit", "--python", programs.warm_python, "--limit", f"{20 * MIB}", script.name]
    done = programs.end(programs.start([programs.oomph, *words], card=None))
    assert (done.code, done.stderr) == (1, ""), done
    first = done.stdout.splitlines()[0]
    assert first.startswith("does not fit under a limit of 20.00 MiB, whatever was tried: it needs at least ")
    assert "trained" not in done.stdout


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--limit", "1GiB", "nothing.py"], "oomph: nothing.py: not found\n"),
        (["--gpu", "T5", "train.py"], "oomph: no card `T5` is known. Write one of "),
    ],
)
def test_what_cannot_be_is_said_in_a_line(programs: Programs, words: list[str], line: str) -> None:
    programs.write(SCRIPT)
    done = programs.end(programs.start([programs.oomph, "fit", *words], card=None))
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith(line) and done.stderr.count("\n") == 1, done.stderr


def test_a_script_that_uses_no_gpu_cannot_be_fitted(programs: Programs) -> None:
    script = programs.write("print('hello')")
    words = ["fit", "--python", sys.executable, "--limit", "1GiB", "--dry-run", script.name]
    done = programs.end(programs.start([programs.oomph, *words], card=None))
    assert done.code == 3
    assert done.stdout.startswith("cannot tell what would make it fit under a limit of 1.00 GiB\n")


# 16 parameters of 16 MiB, with a fused optimizer: 1 GiB of weights, gradients and Adam's state, and nothing else.
STATE = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ParameterList(torch.zeros(1 << 22) for _ in range(16))
    def forward(self, x):
        return sum((part * x).sum() for part in self.parts)

model = Model().to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
for step in range(6):
    model(torch.ones((), device="cuda")).backward()
    optimizer.step()
    optimizer.zero_grad()
print("trained")
"""

# Logits of 512 MiB.
LOSS = """
import torch

head = torch.nn.Parameter(torch.zeros(1, 32768, device="cuda"))
target = torch.zeros(4096, dtype=torch.long, device="cuda")
optimizer = torch.optim.SGD([head], lr=0.1)
for step in range(6):
    torch.nn.functional.cross_entropy(head * torch.ones(4096, 1, device="cuda"), target).backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_where_nothing_else_suffices_state_is_on_the_host(programs: Programs) -> None:
    script = programs.write(STATE)
    limit = 640 * MIB
    words = ["fit", "--python", programs.warm_python, "--phantom", "--json", "-o", "fit.json", "--limit", str(limit)]
    done = programs.end(programs.start([programs.oomph, *words, script.name], card=None))
    assert (done.code, done.stdout) == (0, "trained\n"), done
    answer = json.loads((programs.folder / "fit.json").read_text())
    chosen = answer["chosen"]
    assert chosen["measures"] == [
        {
            "what": "optimizer state on the host",
            "do": "the optimizer's step for some parameters at a time, their state copied in and out",
            "exact": "bit for bit",
            "costs": 400,
        }
    ]
    # Weights and gradients, and three groups of state of 32 MiB each; half a GiB of state is gone.
    assert answer["peak_reserved"] >= 1024 * MIB
    assert 608 * MIB <= chosen["peak_reserved"] <= limit
    summary = json.loads((done.run() / "main.json").read_text())
    assert summary["devices"][0]["peak_reserved"] == chosen["peak_reserved"]
    # Without it there is nothing.
    words = ["fit", "--python", programs.warm_python, "--dry-run", "--json", "--limit", str(limit), "--without", "host-state"]
    done = programs.end(programs.start([programs.oomph, *words, script.name], card=None))
    assert (done.code, json.loads(done.stdout)["fits"]) == (1, False)


def test_as_many_activations_are_on_the_host_as_it_takes(programs: Programs) -> None:
    _, free = fitted(programs, "--gpu", "T4")
    limit = free["peak_reserved"] * 8 // 10
    code, answer = fitted(programs, "--limit", str(limit), "--without", "checkpointing", "--without", "settings")
    assert (code, answer["fits"]) == (0, True)
    assert whats(answer["chosen"]) == ["fused optimizer", "4 eighths of the saved activations on the host"]
    assert [measure["exact"] for measure in answer["chosen"]["measures"]] == ["up to rounding", "bit for bit"]
    tried = {tuple(whats(tried)): tried["fits"] for tried in answer["tried"]}
    assert tried["fused optimizer", "2 eighths of the saved activations on the host"] is False


def test_a_loss_in_chunks_is_the_first_thing_that_helps(programs: Programs) -> None:
    script = programs.write(LOSS)
    words = ["fit", "--python", programs.warm_python, "--dry-run", "--json", "--limit", "1300MiB", script.name]
    done = programs.end(programs.start([programs.oomph, *words], card=None))
    answer = json.loads(done.stdout)
    assert (done.code, whats(answer["chosen"])) == (0, ["loss in chunks"]), done
    [measure] = answer["chosen"]["measures"]
    assert (measure["exact"], measure["costs"]) == ("up to rounding", 10)
    # The logits, their log-softmax and two gradients; or the logits, their gradient and a chunk.
    assert (answer["peak_reserved"] // (512 * MIB), answer["chosen"]["peak_reserved"] // (512 * MIB)) == (3, 2)
