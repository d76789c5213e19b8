"""`oomph lint --prove`: what findings cost, measured on the phantom GPU as the script is and with a change."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess

import pytest
from conftest import ROOT

GUIDE = (ROOT / "docs" / "guide" / "lint.md").read_text()

# A script that the tests change; it keeps nothing.
SCRIPT = """\
import torch
from torch import nn

model = nn.Linear(1024, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters())
kept = []
for step in range(12):
    x = torch.randn(256, 1024, device="cuda")
    out = model(x)
    out.sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def prove(
    oomph_bin: str, python: str, folder: pathlib.Path, script: str, *more: str
) -> subprocess.CompletedProcess[str]:
    """`oomph lint --prove` on a script of this text, which has to stay as it is."""
    path = folder / "train.py"
    path.write_text(script)
    command = [oomph_bin, "lint", "--prove", "--python", python, *more]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert path.read_text() == script
    return done


def proofs(done: subprocess.CompletedProcess[str]) -> list[dict[str, object]]:
    return [each["proof"] for each in json.loads(done.stdout)["findings"]]


def test_the_guide_shows_what_is_measured(oomph_bin: str, warm_python: str, tmp_path: pathlib.Path) -> None:
    script = re.search(r"```python\n# train.py\n(.*?)```", GUIDE, re.S)
    shown = re.search(r"\$ oomph lint --prove train.py\n(.*?)```", GUIDE, re.S)
    assert script is not None and shown is not None
    done = prove(oomph_bin, warm_python, tmp_path, script[1], "train.py")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == shown[1]


def test_a_leak_is_measured_in_bytes_a_step(oomph_bin: str, warm_python: str, tmp_path: pathlib.Path) -> None:
    script = SCRIPT + "    kept.append(out.detach())\n"
    (proof,) = proofs(prove(oomph_bin, warm_python, tmp_path, script, "--json", "train.py"))
    # 256 rows of 1024 numbers of 4 bytes; the peak has all twelve of them, or the last one alone.
    one = 256 * 1024 * 4
    before, after = proof.pop("before"), proof.pop("after")
    assert isinstance(before, dict) and isinstance(after, dict)
    assert (before["keeps_bytes_per_step"], after["keeps_bytes_per_step"]) == (one, 0)
    assert before["needs_bytes"] - after["needs_bytes"] >= 10 * one
    assert proof == {
        "proved": True,
        "why_not": None,
        "fix": False,
        "diff": ["- kept.append(out.detach())", "+ kept.append(on_host(out.detach()))"],
    }


def test_arguments_reach_the_script_and_modules_beside_it_are_found(
    oomph_bin: str, warm_python: str, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "beside.py").write_text("rows = 256\n")
    script = "import sys\nimport beside\nassert sys.argv[1:] == ['--rows', '2'], sys.argv\nassert __name__ == '__main__'\n"
    script += "assert __file__.endswith('train.py')\n" + SCRIPT + "    kept.append(out.detach())\n"
    done = prove(oomph_bin, warm_python, tmp_path, script, "--json", "train.py", "--", "--rows", "2")
    (proof,) = proofs(done)
    assert proof["proved"], done.stdout


def test_a_second_try_in_except_is_proved_where_memory_runs_out(
    oomph_bin: str, warm_python: str, tmp_path: pathlib.Path
) -> None:
    script = """\
import torch

def work(rows):
    half = torch.empty(rows // 2, 1 << 20, dtype=torch.uint8, device="cuda")
    rest = torch.empty(rows, 1 << 20, dtype=torch.uint8, device="cuda")
    return half.numel() + rest.numel()

def tried(rows):
    try:
        return work(rows)
    except torch.OutOfMemoryError:
        return work(rows // 2)

tried(100)
"""
    done = prove(oomph_bin, warm_python, tmp_path, script, "--limit", "120MiB", "train.py")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == """\
train.py:12:16: OOL005 retry-in-except
   |
12 |         return work(rows // 2)
   |                ^^^^^^^^^^^^^^^
  inside `except` the failed call's frames are alive, with all their tensors:
  the second try has less memory than the first. Note the failure, leave the
  `except`, then try again
  proved: runs out of memory; with this change it does not
    - try:
    + failed = False
    + try:
    -     return work(rows // 2)
    +     failed = True
    + if failed:
    +     return work(rows // 2)

1 finding in 1 file. `oomph rule OOL001` says more of a rule.
"""
    (proof,) = proofs(prove(oomph_bin, warm_python, tmp_path, script, "--json", "train.py"))
    assert proof["why_not"] == "it shows only where memory runs out: give it a --limit"


def test_a_script_that_fails_keeps_its_findings(oomph_bin: str, warm_python: str, tmp_path: pathlib.Path) -> None:
    script = "open('data.txt')\n" + SCRIPT + "    kept.append(out.detach())\n"
    done = prove(oomph_bin, warm_python, tmp_path, script, "train.py")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "FileNotFoundError: [Errno 2] No such file or directory: 'data.txt'"
    assert "train.py:14:5: OOL003 outputs-on-gpu\n" in done.stdout
    assert done.stdout.endswith("""\
Not proved: the script failed before its first step: FileNotFoundError: [Errno
2] No such file or directory: 'data.txt'.

1 finding in 1 file. `oomph rule OOL001` says more of a rule.
""")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["."], "oomph: --prove runs one script: name it, such as `oomph lint --prove train.py`"),
        (["a.py", "b.py"], "oomph: --prove runs one script: name it, such as `oomph lint --prove train.py`"),
        (["a.ipynb"], "oomph: --prove runs one script: name it, such as `oomph lint --prove train.py`"),
    ],
)
def test_what_cannot_be_proved_gets_a_line(words: list[str], said: str, oomph_bin: str, tmp_path: pathlib.Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("import torch\n")
    (tmp_path / "a.ipynb").write_text('{"cells": []}')
    done = subprocess.run([oomph_bin, "lint", "--prove", *words], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said + "\n")


def test_what_cannot_be_read_is_neither_run_nor_waited_for(oomph_bin: str, tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    words = [oomph_bin, "lint", "--prove", "pipe.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    said = "pipe.py:1: this is not a text that can be read\n\nNothing found in 1 file.\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, said, "")
