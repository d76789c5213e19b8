"""`oomph.status`, beside the command of the same wheel."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

import oomph


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
