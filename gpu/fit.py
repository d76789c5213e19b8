"""`oomph fit` on a real GPU: ten jobs in less memory than they need. Writes a table.

    python3 gpu/fit.py --oomph target/gpu/oomph --out fit.json

`--search` makes the searches alone, which need no GPU: a run on a card finds their answers if `--work`, the interpreter and
this file lie at the same paths there.

For each: the job as it is, with all the memory; and the job in less, as `oomph fit` runs it, which times the best of each
kind of measures. Asked is: does it complete, is the peak the planned one, are the losses those of the job as it is, and
was the choice the quicker one?
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
# What each job held on an H200 with all the memory, and the memory that it gets, in MiB.
JOBS: list[tuple[str, int, int]] = [
    ("--model gpt2 --batch 16 --length 512 --dtype bfloat16", 14336, 10035),
    ("--model llama --batch 8 --length 1024 --dtype bfloat16", 14592, 8755),
    ("--model bert --batch 32 --length 384", 13340, 10672),
    ("--model vit_b_16 --batch 64", 9206, 4603),
    ("--model t5 --batch 16 --length 256", 4952, 3714),
    ("--model resnet50 --batch 128 --opt SGD", 13028, 7817),
    ("--model convnext_tiny --batch 64", 8324, 5827),
    ("--model qwen --batch 8 --length 512 --dtype bfloat16", 14060, 11951),
    ("--model mlp --batch 64", 17020, 15318),
    ("--model opt --batch 16 --length 512", 10458, 5752),
]
FLAGS = ["--vary", "--batch", "--accumulate", "--accum"]


def words(job: str) -> list[str]:
    return [str(HERE / "fit_job.py"), *job.split()]


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any] | None:
    """What the job printed; None where it did not complete."""
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if done.returncode == 0 and lines else None


def fit(oomph: list[str], folder: pathlib.Path, job: str, limit: int, *options: str) -> subprocess.CompletedProcess[str]:
    command = [*oomph, "--limit", str(limit), "--json", *options, *FLAGS, *words(job)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oomph", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--work", default="fit-work")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--search", action="store_true")
    every = ",".join(map(str, range(len(JOBS))))
    parser.add_argument("--jobs", default=every, help="the numbers of some of them, such as 4,9")
    options = parser.parse_args()
    oomph = [str(pathlib.Path(options.oomph).resolve()), "fit", "--python", options.python]
    work = pathlib.Path(options.work).resolve()
    numbers = [int(number) for number in options.jobs.split(",")]
    rows: list[dict[str, Any]] = [
        {"job": JOBS[number][0], "limit": JOBS[number][2] << 20, "folder": str(work / str(number))} for number in numbers
    ]

    def search(row: dict[str, Any]) -> None:
        folder = pathlib.Path(row["folder"])
        folder.mkdir(parents=True, exist_ok=True)
        done = fit(oomph, folder, row["job"], row["limit"], "--dry-run", "--estimate")
        if done.returncode not in (0, 1):
            row["error"] = f"{done.returncode}: {done.stderr[-300:]}"

    if options.search:
        for row in rows:
            search(row)
            print(json.dumps(row), flush=True)
        return
    # The searches need no GPU: they go on while the jobs run as they are.
    with ThreadPoolExecutor(5) as pool:
        searches = pool.map(search, rows)
        for row in rows:
            row["plain"] = told(subprocess.run([sys.executable, *words(row["job"])], capture_output=True, text=True))
        list(searches)
    for row in rows:
        folder = pathlib.Path(row["folder"])
        done = fit(oomph, folder, row["job"], row["limit"], "-o", "fit.json", "--force")
        row["fitted"] = told(done)
        if row["fitted"] is None:
            row["error"] = done.stderr[-600:]
        if (folder / "fit.json").exists():
            row["answer"] = json.loads((folder / "fit.json").read_text())
        print(json.dumps(summary(row)), flush=True)
        pathlib.Path(options.out).write_text(json.dumps(rows))


def summary(row: dict[str, Any]) -> dict[str, Any]:
    """One line of the table."""
    plain, fitted, answer = row["plain"], row.get("fitted"), row.get("answer") or {}
    chosen = answer.get("chosen")
    line: dict[str, Any] = {"job": row["job"], "limit_mib": row["limit"] >> 20, "error": row.get("error")}
    if plain is None or fitted is None or chosen is None:
        return line
    pairs = zip(plain["losses"], fitted["losses"])
    names = [" + ".join(measure["what"] for measure in tried["measures"]) for tried in answer["tried"]]
    timed = [
        [name, tried["step_us"] / 1000] for name, tried in zip(names, answer["tried"]) if tried["step_us"] is not None
    ]
    return line | {
        "measures": " + ".join(measure["what"] for measure in chosen["measures"]),
        "plain_mib": plain["peak_reserved"] >> 20,
        "planned_mib": chosen["peak_reserved"] >> 20,
        "held_mib": fitted["peak_reserved"] >> 20,
        "loss_difference": max(abs(a - b) / abs(a) for a, b in pairs),
        "plain_ms": round(plain["step_ms"], 1),
        "fitted_ms": round(fitted["step_ms"], 1),
        "timed": timed,
        "estimated_first": min(
            (tried for tried in answer["tried"] if tried["fits"]), key=lambda tried: int(tried["costs"])
        )["measures"] == chosen["measures"],
    }


if __name__ == "__main__":
    main()
