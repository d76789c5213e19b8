"""`oomph.status`, beside the command of the same wheel."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from programs import Programs

import oomph

Run = Callable[..., str]


def steady(document: dict[str, Any]) -> dict[str, Any]:
    """What does not change from one moment to the next."""
    ram, shm = document["ram"], document["shm"]
    return {
        "names": list(document),
        "host": document["host"],
        "gpus": [(gpu["index"], gpu["name"]) for gpu in document["gpus"]],
        "no_gpu": document["no_gpu"],
        "ram": ram and ram["total"],
        "shm": shm and shm["total"],
        "settings": document["settings"],
    }


def test_it_says_what_the_command_says(oomph_bin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    unset = steady(oomph.status().data)
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    found = steady(oomph.status().data)
    assert found["settings"] != unset["settings"]
    command = subprocess.run([oomph_bin, "status", "--json"], capture_output=True, text=True, check=True)
    assert found == steady(json.loads(command.stdout))


def test_it_prints_as_the_screen_of_the_command(oomph_bin: str) -> None:
    status = oomph.status()
    command = subprocess.run([oomph_bin, "status"], capture_output=True, text=True, check=True)
    assert str(status) == status.text == repr(status) + "\n"
    assert status.text.splitlines()[0] == command.stdout.splitlines()[0]


def test_it_says_which_pytorch_is_here_and_what_it_holds(programs: Programs, run_python: Run, torch: ModuleType) -> None:
    last = "print(' '.join(str(oomph.status()).partition('\\n  PyTorch ')[2].split()))"
    version, cuda = torch.__version__, torch.version.cuda
    installed = importlib.metadata.version("torch")
    assert run_python(f"import oomph; {last}") == f"{installed} is installed, and not imported here\n"
    assert run_python(f"import sys, oomph; oomph.status(); sys.path[:] = []; {last}") == "\n"
    script = programs.write(
        f"""
        import oomph, torch
        {last}
        held = torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
        {last}
        torch.version.cuda = None
        {last}
        """
    )
    done = programs.end(programs.start([sys.executable, script.name]))
    assert (done.code, done.stderr) == (0, "")
    made = f"{version}, made for CUDA {cuda}"
    assert done.stdout.splitlines() == [
        f"{made}; it has used no GPU yet",
        f"{made}; 20.00 MiB held here on GPU 0, 3.00 MiB in use",
        f"{version}, made without CUDA: it cannot use NVIDIA's GPUs",
    ]
