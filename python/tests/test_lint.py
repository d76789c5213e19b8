"""`oomph lint` on programs whose fault is known: found in the broken source, and not in the cured one."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections import defaultdict

import pytest
from conftest import ROOT

VERDICTS = ROOT / "verdicts"
LABELS = [json.loads(line) for line in (VERDICTS / "labels.jsonl").read_text().splitlines()]
# Those whose fault a rule is about. The others are too large for their card, which no source shows.
VISIBLE = [label for label in LABELS if "lint" in label]
# Of the broken ones, those whose fault `--fix` mends.
MENDED = ["101_speech_enhancer.py", "102_two_tower_uniformity.py", "147_val_loss_sum.py", "254_grads_of_both.py"]

sys.path.append(str(VERDICTS))

import run  # noqa: E402
import sources  # noqa: E402

Place = tuple[str, int]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("sources")
    sources.write(folder)
    return folder


def found(oomph_bin: str, folder: pathlib.Path) -> dict[str, set[Place]]:
    """The rules and lines found in each program of a folder."""
    done = subprocess.run([oomph_bin, "lint", str(folder), "--json"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["unreadable"] == []
    places: dict[str, set[Place]] = defaultdict(set)
    for each in document["findings"]:
        places[pathlib.Path(each["path"]).name].add((each["rule"], each["line"]))
    return places


def test_faults_are_found_and_cures_are_not(oomph_bin: str, programs: pathlib.Path) -> None:
    broken, cured = found(oomph_bin, programs / "broken"), found(oomph_bin, programs / "cured")

    def is_found(label: dict[str, object]) -> bool:
        lines = label["lines"]
        assert isinstance(lines, list)
        new = broken[str(label["file"])] - cured[str(label["file"])]
        return any(rule == label["lint"] and min(abs(line - each) for each in lines) <= 2 for rule, line in new)

    missed = [label["file"] for label in VISIBLE if not is_found(label)]
    noisy = [label["file"] for label in VISIBLE if cured[label["file"]]]
    assert len(VISIBLE) >= 80
    assert len(missed) <= 0.15 * len(VISIBLE), missed
    assert len(noisy) <= 0.03 * len(VISIBLE), noisy


@pytest.mark.parametrize("name", MENDED)
def test_a_program_that_was_mended_lives(
    name: str, oomph_bin: str, warm_python: str, programs: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    script = tmp_path / name
    script.write_text((programs / "broken" / name).read_text())
    label = next(label for label in LABELS if label["file"] == name)
    assert run.verdict_of(label, False, None, oomph_bin, warm_python, [], script)[0] == 1
    subprocess.run([oomph_bin, "lint", str(script), "--fix", "--exit-zero"], cwd=tmp_path, check=True, capture_output=True)
    assert script.read_text() != (programs / "broken" / name).read_text()
    assert run.verdict_of(label, True, None, oomph_bin, warm_python, [], script)[0] == 0


def test_a_hook_for_commits_reads_what_it_is_given(oomph_bin: str, tmp_path: pathlib.Path) -> None:
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text()
    assert "entry: oomph lint\n" in hook
    (tmp_path / "a.py").write_text("import torch\noptimizer.zero_grad(set_to_none=False)\n")
    done = subprocess.run([oomph_bin, "lint", "a.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == (
        "a.py:2:1: OOL015 zeroed-gradients\n"
        "  |\n"
        "2 | optimizer.zero_grad(set_to_none=False)\n"
        "  | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  gradients filled with zeros stay in memory from step to step. Leave\n"
        "  `set_to_none=False` out\n\n"
        "1 finding in 1 file; `--fix` mends 1.\n"
    )


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(oomph_bin: str, tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    done = subprocess.run([oomph_bin, "lint", "pipe.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    said = "pipe.py:1: this is not a text that can be read\n\nNothing found in 1 file.\n"
    assert (done.returncode, done.stdout) == (2, said)
