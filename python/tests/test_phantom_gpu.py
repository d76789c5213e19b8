"""What needs a GPU, on one that is not there: PyTorch's own allocator on a card that counts and does not compute."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from conftest import ROOT

pytest.importorskip("torch", reason="torch is not installed here")

FILES = ("test_budget.py", "test_callbacks.py", "test_free.py", "test_notebook.py", "test_pytest_plugin.py")


@pytest.fixture(scope="module")
def environment(phantom: str) -> dict[str, str]:
    """The environment of a process that has such a card, of 24 GiB."""
    return {**os.environ, "LD_PRELOAD": phantom, "OOMPH_PHANTOM": f"total={24 << 30}"}


def test_the_script_for_a_real_gpu_finds_nothing_wrong(environment: dict[str, str]) -> None:
    command = [sys.executable, str(ROOT / "gpu" / "python_api.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    rows = [line for line in done.stdout.splitlines() if line.startswith("| ")][1:]
    assert (done.returncode, [row for row in rows if not row.endswith("| yes |")]) == (0, []), done
    assert len(rows) >= 20


def test_the_tests_for_a_real_gpu_pass(environment: dict[str, str]) -> None:
    files = [str(ROOT / "python" / "tests" / file) for file in FILES]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "gpu", *files]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout and "skipped" not in done.stdout, done.stdout
