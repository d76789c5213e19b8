"""`oomph run --resume` with `oomph.checkpoint`: what is started again, and what is not."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from types import ModuleType

import pytest

# It dies at a step, as often as it is told to, in the way it is told to.
SCRIPT = """
import os, pathlib, signal, sys, time
import torch, oomph
torch.set_num_threads(1)
way, step_of_death, deaths = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
errors = {"oom": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."), "host": MemoryError(),
          "bug": ValueError("a mistake")}
torch.manual_seed(1)
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
saved = oomph.checkpoint(model, optimizer, every=4, resume="anew" not in sys.argv)
marker = pathlib.Path("died")
for step in saved.steps(12):
    died = len(marker.read_text()) if marker.exists() else 0
    if step == step_of_death and died < deaths:
        marker.write_text("x" * (died + 1))
        saved.wait()
        if way == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif way == "wait":
            time.sleep(60)
        elif way == "code":
            os._exit(7)
        raise errors[way]
    optimizer.zero_grad()
    model(torch.rand(2, 4)).sum().backward()
    optimizer.step()
print("final", saved.steps_done, model.weight.sum().item(), flush=True)
"""


def start(
    oomph_bin: str, python: str, folder: pathlib.Path, *words: object, options: tuple[str, ...] = ()
) -> subprocess.Popen[str]:
    (folder / "train.py").write_text(SCRIPT)
    return subprocess.Popen(
        [oomph_bin, "run", *options, "--python", python, "train.py", *map(str, words)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, list[str], list[str]]:
    """Exit code, what the script printed, and the lines of oomph."""
    stdout, stderr = process.communicate(timeout=300)
    said = [line.removeprefix("oomph: ") for line in stderr.splitlines() if line.startswith("oomph: ")]
    return process.returncode, stdout.splitlines(), said


@pytest.fixture(scope="module")
def python(warm_python_alone: str) -> str:
    return warm_python_alone


@pytest.fixture(scope="module")
def final(oomph_bin: str, python: str, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("plain")
    code, printed, said = ended(start(oomph_bin, python, folder, "none", -1, 0))
    assert (code, said) == (0, []) and printed[0].startswith("final 12 ")
    # Nothing is noted for a resume that nobody asked for.
    assert not (folder / ".oomph/last/progress").exists()
    assert "resume" not in json.loads((folder / ".oomph/last/run.json").read_text())
    return printed


def test_a_job_that_is_killed_goes_on_from_its_checkpoint(
    oomph_bin: str, python: str, final: list[str], tmp_path: pathlib.Path
) -> None:
    code, printed, said = ended(start(oomph_bin, python, tmp_path, "kill", 6, 1, options=("--resume", "2")))
    assert (code, printed) == (0, final), said
    assert said == [
        "started again (1 of 2) after step 6: killed by signal 9 (SIGKILL), with no sign that memory ran out",
        "going on after step 4, from checkpoints/000001-step-4.oomph",
    ]
    assert (tmp_path / ".oomph/last/progress").read_bytes() == (4).to_bytes(8, "little") + (12).to_bytes(8, "little")


def test_a_job_that_ran_out_of_memory_goes_on_even_if_it_wants_to_begin_anew(
    oomph_bin: str, python: str, final: list[str], tmp_path: pathlib.Path
) -> None:
    # Checkpoints of an earlier job, which `resume=False` leaves alone.
    assert ended(start(oomph_bin, python, tmp_path, "none", -1, 0))[1] == final
    options = ("--resume", "2", "--retry")
    code, printed, said = ended(start(oomph_bin, python, tmp_path, "host", 6, 1, "anew", options=options))
    assert (code, printed) == (0, final), said
    assert said == [
        "started again (1 of 2) after step 6: it ran out of memory",
        "going on after step 4, from checkpoints/000004-step-4.oomph",
    ]


def test_a_job_that_dies_again_at_the_same_step_is_not_started_a_third_time(
    oomph_bin: str, python: str, tmp_path: pathlib.Path
) -> None:
    code, printed, said = ended(start(oomph_bin, python, tmp_path, "oom", 6, 9, options=("--resume", "5")))
    assert (code, printed) == (1, [])
    assert said == [
        "started again (1 of 5) after step 6: it ran out of memory",
        "going on after step 4, from checkpoints/000001-step-4.oomph",
        "not started again after step 6: it ran out of memory, and it got no further than before",
    ]
    assert (tmp_path / "died").read_text() == "xx"


@pytest.mark.parametrize(("way", "code"), [("bug", 1), ("code", 7)])
def test_a_failure_of_its_own_is_not_started_again(
    way: str, code: int, oomph_bin: str, python: str, tmp_path: pathlib.Path
) -> None:
    # An end without a word is told by the exit code, which only the process itself has.
    starts = sys.executable if way == "code" else python
    assert ended(start(oomph_bin, starts, tmp_path, way, 6, 9, options=("--resume", "5"))) == (code, [], [])
    assert (tmp_path / "died").read_text() == "x"


def test_what_is_interrupted_is_not_started_again(oomph_bin: str, torch: ModuleType, tmp_path: pathlib.Path) -> None:
    process = start(oomph_bin, sys.executable, tmp_path, "wait", 6, 9, options=("--resume", "5"))
    end = time.monotonic() + 120
    while not (tmp_path / "died").exists():
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 130, stderr
    assert stdout == "" and "oomph: " not in stderr
    assert (tmp_path / "died").read_text() == "x"
