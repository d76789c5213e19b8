"""`oomph run --phantom`: a program on a card that is not there."""

from __future__ import annotations

import json
import pathlib
import subprocess
from collections.abc import Callable

import pytest

EXPANDABLE = "expandable_segments:True"

FILLS = """
import torch
print(torch.cuda.get_device_name())
kept = [torch.empty(1 << 28, device="cuda") for _ in range(20)]
"""

# `oomph plan` would end it after the third step: the peak stands still.
TRAINS = """
import torch
model = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(8):
    model(torch.randn(4, 64, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
print("all", step + 1)
"""

# Batches of different sizes, so that ordinary segments are left with holes.
RAGGED = """
import torch
model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for batch in (3000, 20000, 6000, 51000, 12000, 30000):
    model(torch.randn(batch, 512, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""

# The second is longer than what PyTorch reserves for a segment on a T4.
BEYOND = """
import torch
kept = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
torch.empty(20 << 30, dtype=torch.uint8, device="cuda")
"""


OnPhantom = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def on_phantom(oomph_bin: str, warm_python: str, tmp_path: pathlib.Path) -> OnPhantom:
    """Runs code under `oomph run --phantom` with these options."""

    def run(code: str, *words: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "job.py").write_text(code)
        return subprocess.run(
            [oomph_bin, "run", "--phantom", *words, "--python", warm_python, "job.py"],
            cwd=tmp_path, capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    return run


def test_it_runs_out_as_the_card_does_and_is_explained(on_phantom: OnPhantom) -> None:
    done = on_phantom(FILLS, "--gpu", "T4")
    assert (done.returncode, done.stdout) == (1, "Tesla T4\n"), done.stderr
    assert "\nout of memory on GPU 0: 1.00 GiB more was asked for\n  Where    job.py:4 " in done.stderr


def test_it_runs_to_its_end(on_phantom: OnPhantom) -> None:
    done = on_phantom(TRAINS)
    assert (done.returncode, done.stdout) == (0, "all 8\n"), done.stderr
    assert " of 139." in done.stderr.splitlines()[-1]


def replayed(oomph_bin: str, run: pathlib.Path, *words: str) -> dict[str, object]:
    command = [oomph_bin, "replay", "--json", str(run / "main.pickle"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_segments_expand_as_on_a_card_and_as_in_a_replay(
    on_phantom: OnPhantom, oomph_bin: str, tmp_path: pathlib.Path
) -> None:
    last = tmp_path / ".oomph" / "last"
    assert on_phantom(RAGGED).returncode == 0
    foretold = replayed(oomph_bin, last.resolve(), "--set", EXPANDABLE)["replayed"]
    done = on_phantom(RAGGED, "--set", EXPANDABLE)
    assert done.returncode == 0, done.stderr
    came = replayed(oomph_bin, last.resolve())
    assert came["fidelity"] == {"exact": True, "first_divergence": None}
    assert came["replayed"] == foretold


def test_segments_that_expand_run_out_as_the_card_does(
    on_phantom: OnPhantom, oomph_bin: str, tmp_path: pathlib.Path
) -> None:
    done = on_phantom(FILLS, "--gpu", "T4", "--set", EXPANDABLE)
    assert (done.returncode, done.stdout) == (1, "Tesla T4\n"), done.stderr
    assert "\nout of memory on GPU 0: 1.00 GiB more was asked for\n  Where    job.py:4 " in done.stderr
    came = replayed(oomph_bin, tmp_path / ".oomph" / "last")
    assert came["fidelity"] == {"exact": True, "first_divergence": None}


def test_a_plan_with_segments_that_expand_comes_to_an_answer(
    oomph_bin: str, warm_python: str, tmp_path: pathlib.Path
) -> None:
    def plan(code: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "job.py").write_text(code)
        return subprocess.run(
            [oomph_bin, "plan", "--gpu", "T4", "--set", EXPANDABLE, "--python", warm_python, "job.py"],
            cwd=tmp_path, capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    done = plan(RAGGED)
    assert (done.returncode, done.stdout.splitlines()[0].split(":")[0]) == (0, "fits on the T4 (14.57 GiB)"), done
    done = plan(BEYOND)
    assert done.returncode == 3, done
    assert "Tried to allocate 20.00 GiB" in done.stdout
