#!/usr/bin/env python3
"""Runs programs whose fault is known under `oomph run`, on a GPU that is not there, and judges the verdicts.

    python3 verdicts/run.py [--only 101,2] [--cured] [--jobs 2] [--keep DIR] [--cold]

`oomph`, `python` and the phantom's library are those of the environment that this Python belongs to, or OOMPH, PYTHON and
PHANTOM. Each program is asked three things of its verdict: is the cause one that its label accepts; does a line to blame
stand in the label; does the first cure have a word of the label's, and none that would do harm. With `--cured` the
programs run with their cure, and have to complete under the same limit. All are forks of one Python that has imported
PyTorch (warm.py); with `--cold` each has a Python of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import warm

HERE = pathlib.Path(__file__).resolve().parent
# A card that is larger than any limit here.
CARD = 139 << 30
LONGEST = 600


def tools() -> tuple[str, str, str]:
    scripts = pathlib.Path(sys.executable).parent
    packages = scripts.parent.glob("lib/python3*/site-packages/oomph/liboomph_phantom.so")
    phantom = os.environ.get("PHANTOM") or str(next(packages, ""))
    if not os.path.exists(phantom):
        sys.exit("run.py: no liboomph_phantom.so: install oomph's wheel beside this Python, or set PHANTOM")
    return os.environ.get("OOMPH", str(scripts / "oomph")), os.environ.get("PYTHON", sys.executable), phantom


def verdict_of(
    label: dict[str, Any],
    is_cured: bool,
    keep: str | None,
    oomph: str,
    python: str,
    preloads: list[str],
    script: pathlib.Path | None = None,
) -> tuple[int, dict[str, Any] | None]:
    """The program's exit code, and what the recording's verdict says. `script` stands in for the program."""
    dropped = ("CURED", "LD_PRELOAD", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    if is_cured:
        environment["CURED"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        script = script or HERE / "programs" / label["file"]
        command = [oomph, "run", "-q", "--limit", label["limit"], "env", *preloads]
        command += [f"OOMPH_PHANTOM=total={CARD}", python, str(script)]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=LONGEST)
        if keep:
            kept = pathlib.Path(keep, label["file"]).with_suffix("")
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(pathlib.Path(folder, ".oomph"), kept, symlinks=True)
        if is_cured:
            return done.returncode, None
        explained = subprocess.run([oomph, "explain", ".oomph/last", "--json"], cwd=folder, capture_output=True, text=True)
        document = json.loads(explained.stdout or "{}")
        document = document[0] if isinstance(document, list) else document
        return done.returncode, next((oom.get("verdict") for oom in document.get("ooms") or []), None)


def judge(label: dict[str, Any], verdict: dict[str, Any] | None) -> dict[str, bool]:
    verdict = verdict or {}
    own = [one["line"] for one in verdict.get("culprits") or [] if one["file"].endswith(label["file"])]
    cure = next((cure["do"].lower() for cure in verdict.get("cures") or []), "")
    harms = any(word.lower() in cure for word in label["wrong_advice"])
    helps = any(re.search(rf"(?<![a-z0-9]){re.escape(word.lower())}", cure) for word in label["fix_words"])
    return {
        "cause": verdict.get("cause") in label["accept_causes"],
        "line": bool(set(own) & set(label["lines"])),
        "advice": helps and not harms,
        "harm": harms,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="how the names of programs begin, with commas")
    parser.add_argument("--cured", action="store_true", help="run them with their cures")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="leave the run folders here")
    parser.add_argument("--cold", action="store_true", help="give each program a Python of its own")
    chosen = parser.parse_args()
    labels = [json.loads(line) for line in (HERE / "labels.jsonl").read_text().splitlines()]
    labels = [label for label in labels if label["file"].startswith(tuple(chosen.only.split(",")))]
    oomph, python, phantom = tools()
    if chosen.cold:
        sums = run_all(labels, chosen, oomph, python, [f"LD_PRELOAD={phantom}"])
    else:
        with warm.python(python, phantom) as stand_in:
            sums = run_all(labels, chosen, oomph, stand_in, [])
    print(", ".join(f"{key} {count}" for key, count in sums.items()) + f" of {len(labels)}")
    sys.exit(chosen.cured and sums["complete"] < len(labels))


def run_all(
    labels: list[dict[str, Any]], chosen: argparse.Namespace, oomph: str, python: str, preloads: list[str]
) -> Counter[str]:
    """How many programs complete, or are judged rightly."""
    sums: Counter[str] = Counter()
    with ThreadPoolExecutor(chosen.jobs) as pool:
        results = pool.map(lambda label: verdict_of(label, chosen.cured, chosen.keep, oomph, python, preloads), labels)
        for label, (code, verdict) in zip(labels, results):
            if chosen.cured:
                sums["complete"] += code == 0
                print(f"{label['file']:36} {'completes' if code == 0 else f'FAILS with {code}'}", flush=True)
                continue
            judged = judge(label, verdict)
            sums.update({key: int(value) for key, value in judged.items()})
            said = f"{verdict['cause']}, {verdict['kind']}" if verdict else "no verdict"
            wrong = [key for key in ("cause", "line", "advice") if not judged[key]] + ["harm"] * judged["harm"]
            print(f"{label['file']:36} {label['kind']:22} {said:40} {' '.join(wrong)}", flush=True)
    return sums


if __name__ == "__main__":
    main()
