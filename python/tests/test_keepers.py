"""Who keeps storages alive, as the recorder notes it when memory runs out."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest
from conftest import ROOT

KEPT = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
from {package} import keepers

def job():
    kept = [torch.empty(1 << 20, device="cuda") for _ in range(3)]
    found = keepers.keepers(torch)
    print([(row["path"], row["class"]) for row in found["holders"]], [row[3] for row in found["storages"]])

job()
"""


@pytest.mark.parametrize("package", ["oomph._recorder", "_oomph_recorder"])
def test_the_search_does_not_find_itself(
    package: str, phantom: str, warm_python: str, run_python: Callable[..., str], tmp_path: pathlib.Path
) -> None:
    """The recorder has two homes: the installed package, and the folder that `oomph run` brings along."""
    shutil.copytree(ROOT / "python/oomph/_recorder", tmp_path / "_oomph_recorder")
    said = run_python(KEPT.format(package=package), str(tmp_path), python=warm_python, LD_PRELOAD=phantom)
    assert said == "[('kept', 'list')] [0, 0, 0]\n"


FAILED = """
import gc
import torch

gc.disable()

def work(rows):
    half = torch.empty(rows // 2, 1 << 20, dtype=torch.uint8, device="cuda")
    rest = torch.empty(rows, 1 << 20, dtype=torch.uint8, device="cuda")

try:
    work(100)
except torch.OutOfMemoryError:
    pass
print(torch.cuda.memory_allocated())
"""


def test_after_a_failure_that_is_caught_its_tensors_are_gone_without_the_collector(
    oomph_bin: str, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "train.py").write_text(FAILED)
    words = [oomph_bin, "run", "-q", "--phantom", "--limit", "120MiB", "--python", sys.executable, "train.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
