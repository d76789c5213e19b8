"""Verdicts on programs whose fault is known: some of verdicts/, one of each kind that a recording alone does not show."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT
from programs import Programs

VERDICTS = ROOT / "verdicts"
LABELS = {row["file"]: row for row in map(json.loads, (VERDICTS / "labels.jsonl").read_text().splitlines())}

# The program, and what its verdict has to be: cause, kind.
KNOWN = {
    "107_gcn_adjacency_memo.py": ("leak", "cache_unbounded"),
    "112_kfold_ensemble.py": ("leak", "models_kept"),
    "116_histogram_logger.py": ("leak", "outputs_kept"),
    "119_gru_cell_state.py": ("leak", "graphs_kept"),
    "207_music_adam.py": ("capacity", "optimizer_state"),
    "250_retry_batches.py": ("capacity", "retry_inside_except"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_verdict_names_cause_line_and_cure(name: str, oomph_bin: str, programs: Programs, tmp_path: pathlib.Path) -> None:
    environment = {**os.environ, "OOMPH": oomph_bin, "PYTHON": sys.executable, "PHANTOM": programs.phantom}
    done = subprocess.run(
        [sys.executable, str(VERDICTS / "run.py"), "--only", name, "--jobs", "1"],
        capture_output=True, text=True, timeout=300, cwd=tmp_path, env=environment,
    )  # fmt: skip
    cause, kind = KNOWN[name]
    assert done.stdout.splitlines() == [
        f"{name:36} {LABELS[name]['kind']:22} {f'{cause}, {kind}':40} ",
        "cause 1, line 1, advice 1, harm 0 of 1",
    ], done


def test_every_program_has_a_label() -> None:
    assert sorted(LABELS) == sorted(path.name for path in (VERDICTS / "programs").glob("*.py"))
