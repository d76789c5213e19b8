"""Programs that tests run, and how they are run under `oomph run` on a GPU that is not there."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from typing import Any

GIB = 1 << 30
T4 = "name=Tesla T4;total=15828320256;capability=7.5;processors=40"

# A model without matrix products: cuBLAS would want a real card.
MODEL = """
import torch

class Scale(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(size))
        self.register_buffer("mean", torch.zeros(size))
    def forward(self, x):
        return torch.tanh(x * self.weight + self.mean)

model = torch.nn.Sequential(Scale(1 << 20), Scale(1 << 20)).to("cuda")
optimizer = torch.optim.Adam(model.parameters())
"""

# Steps that keep their losses, each with 48 MiB of its graph.
LEAK = (
    MODEL
    + """
import oomph

losses = []
def step():
    optimizer.zero_grad()
    loss = model(torch.ones(4, 1 << 20, device="cuda")).sum()
    loss.backward(retain_graph=True)
    optimizer.step()
    losses.append(loss)

def train():
    while True:
        step()

def verdict(explanation):
    return explanation.data["ooms"][0]["verdict"]
"""
)


@dataclasses.dataclass
class Outcome:
    """What remains of a program that was run."""

    code: int
    stdout: str
    stderr: str
    folder: pathlib.Path

    def names(self) -> list[str]:
        """The recordings of its run."""
        return sorted(path.name for path in self.run().glob("*.pickle"))

    def run(self) -> pathlib.Path:
        return (self.folder / ".oomph" / "last").resolve()

    def recording(self, name: str = "main") -> dict[str, Any]:
        with open(self.run() / f"{name}.pickle", "rb") as file:
            found: dict[str, Any] = pickle.load(file)
        return found


class Programs:
    """Runs programs in a folder of their own."""

    def __init__(self, oomph: str, phantom: str, warm_python: str, folder: pathlib.Path) -> None:
        self.oomph = oomph
        self.phantom = phantom
        # Stands in for the interpreter where a program is on the card and how it starts makes no difference.
        self.warm_python = warm_python
        self.folder = folder

    def write(self, source: str, name: str = "train.py") -> pathlib.Path:
        path = self.folder / name
        path.write_text(textwrap.dedent(source))
        return path

    def environment(self, card: str | None) -> dict[str, str]:
        environment = {**os.environ, "NO_COLOR": "1", "PYTHONWARNINGS": "ignore"}
        for name in ("PYTHONPATH", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "RANK"):
            environment.pop(name, None)
        if card is not None:
            environment.update(LD_PRELOAD=self.phantom, OOMPH_PHANTOM=card)
        return environment

    def start(
        self, words: Iterable[str], card: str | None = T4, **environment: str
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            list(words),
            cwd=self.folder,
            env={**self.environment(card), **environment},
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def end(self, process: subprocess.Popen[str]) -> Outcome:
        stdout, stderr = process.communicate(timeout=300)
        return Outcome(process.returncode, stdout, stderr, self.folder)

    def run(
        self,
        source: str,
        *options: str,
        card: str | None = T4,
        args: Iterable[str] = (),
        is_warm: bool = True,
        **environment: str,
    ) -> Outcome:
        """`oomph run OPTIONS train.py ARGS`. A program that imports PyTorch in a way of its own is not to be warm."""
        script = self.write(source)
        python = self.warm_python if is_warm and card is not None else sys.executable
        words = [self.oomph, "run", "--python", python, *options, script.name, *args]
        return self.end(self.start(words, card, **environment))

    def alone(self, source: str, *args: str, card: str | None = T4) -> Outcome:
        """The same program without oomph."""
        script = self.write(source)
        python = self.warm_python if card is not None else sys.executable
        return self.end(self.start([python, script.name, *args], card))

    def json(self, verb: str, path: pathlib.Path) -> dict[str, Any]:
        """What a verb of oomph says of a file."""
        found = subprocess.run(
            [self.oomph, verb, str(path), "--json"], capture_output=True, text=True, cwd=self.folder, check=True
        )
        result: dict[str, Any] = json.loads(found.stdout)
        return result
