"""`oomph run --phantom`: a program on a card that is not there."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from collections.abc import Callable

import pytest

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


OnPhantom = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def on_phantom(oomph_bin: str, torch: object, tmp_path: pathlib.Path) -> OnPhantom:
    """Runs code under `oomph run --phantom` with these options."""

    def run(code: str, *words: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "job.py").write_text(code)
        return subprocess.run(
            [oomph_bin, "run", "--phantom", *words, "--python", sys.executable, "job.py"],
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
