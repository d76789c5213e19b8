"""`kill -9` at any moment, saves included: the job goes on and ends with the same bits. `./x test` does four trainings,
OOMPH_ATTACK=1 fifty at random moments and one for each place within a save. OOMPH_SEED=N chooses others."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from types import ModuleType

RANDOM = 50 if os.environ.get("OOMPH_ATTACK") else 1
SEED = os.environ.get("OOMPH_SEED", "1")


def test_a_job_that_is_killed_ends_with_the_same_bits(torch: ModuleType, tmp_path: pathlib.Path) -> None:
    helper = pathlib.Path(__file__).with_name("kills.py")
    done = subprocess.run(
        [sys.executable, helper, tmp_path, SEED, str(RANDOM)], capture_output=True, text=True, timeout=3600
    )
    assert done.returncode == 0, done.stderr
    first, *trials = map(json.loads, done.stdout.splitlines())
    expected = first["result"]
    assert expected is not None, done.stderr
    wrong = [trial for trial in trials if trial["result"] != expected or trial["codes"][-1] != 0]
    assert not wrong, (len(wrong), len(trials), wrong, done.stderr[-2000:])
    # Every kill hit, and after the last the job went on from the middle.
    assert all(set(trial["codes"][:-1]) == {-9} and 0 < trial["begun"][-1] < 24 for trial in trials), trials
    aimed = [trial for trial in trials if "aim" in trial]
    assert aimed and len(trials) == RANDOM + len(aimed)
    # Two checkpoints, and nothing half written.
    assert all(len(trial["left"]) == 2 and not any(".part" in name for name in trial["left"]) for trial in trials), trials
    kills = sum(len(trial["codes"]) - 1 for trial in trials)
    print(f"{len(trials)} of {len(trials)} trainings, killed {kills} times, end with the same bits")
