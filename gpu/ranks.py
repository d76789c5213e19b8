"""Measures ranks of distributed jobs on a real GPU, and compares them with what `oomph plan` says of them.

    python3 gpu/ranks.py measure > ranks.jsonl

runs each job on the card as one rank of a world that is not there, and prints its peaks as a line of JSON. Then, with or
without a card,

    python3 gpu/ranks.py compare ranks.jsonl [--oomph target/release/oomph] [--only fsdp2]

plans the same ranks and prints a table of errors; it exits 1 if one is off by more than 0.5%.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

SCRIPT = pathlib.Path(__file__).resolve().with_name("rank_job.py")
PEAKS = ("peak_requested", "peak_allocated", "peak_reserved")
ALLOWED_PERCENT = 0.5
# A job takes seconds; one that waits for a rank that is not there must not wait for ever.
PATIENCE_S = 300

# The world, the rank, and the job's arguments.
JOBS: list[tuple[int, int, str]] = [
    (8, 0, "--kind ddp --depth 8"),
    (64, 63, "--kind ddp --depth 8 --view"),
    (8, 0, "--kind fsdp1"),
    (64, 5, "--kind fsdp1"),
    (8, 0, "--kind fsdp2"),
    (64, 63, "--kind fsdp2"),
    (8, 7, "--kind fsdp2-ckpt --batch 16"),
    (64, 0, "--kind fsdp2-ckpt --batch 16"),
    (8, 0, "--kind hsdp"),
    (64, 9, "--kind hsdp"),
    (8, 0, "--kind tp"),
    (64, 0, "--kind 2d"),
    (8, 0, "--kind pp"),
    (8, 3, "--kind pp"),
    (8, 7, "--kind pp"),
    (8, 0, "--kind pp --schedule gpipe"),
    (64, 0, "--kind pp"),
    (64, 63, "--kind pp"),
    (8, 0, "--kind ep --depth 8"),
    (64, 63, "--kind ep --depth 8"),
    (8, 0, "--kind cp --batch 1 --length 16384 --depth 8"),
    (8, 7, "--kind cp --batch 1 --length 16384 --depth 8"),
    (64, 9, "--kind cp --batch 1 --length 65536 --view"),
    (8, 0, "--kind zero1 --depth 8"),
    (8, 0, "--kind zero2 --depth 8"),
    (8, 0, "--kind zero3 --depth 8"),
    (64, 0, "--kind zero3 --depth 8"),
]


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def measure(only: str, at_once: int) -> None:
    jobs = [job for job in JOBS if only in job[2]]
    with ThreadPoolExecutor(at_once) as pool:
        for row in pool.map(lambda job: measured(*job), jobs):
            print(json.dumps(row), flush=True)


def measured(world: int, rank: int, args: str) -> dict[str, Any]:
    """The peaks of one rank, or why it has none."""
    row: dict[str, Any] = {"args": args, "world": world, "rank": rank}
    command = [sys.executable, str(SCRIPT), *args.split(), "--alone", "--world", str(world), "--rank", str(rank), "--report"]
    began = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
        row |= json.loads(last_line(done.stdout)) if done.returncode == 0 else {"failed": last_line(done.stderr)}
    except subprocess.TimeoutExpired:
        row["failed"] = f"not done after {PATIENCE_S} seconds"
    return row | {"seconds": round(time.monotonic() - began, 1)}


def plan(oomph: str, row: dict[str, Any]) -> dict[str, Any]:
    command = [oomph, "plan", "--gpu", "H200", "--no-options", "--json", "--steps", "3"]
    command += ["--nproc", str(min(row["world"], 8)), "--nnodes", str(max(row["world"] // 8, 1)), "--rank", str(row["rank"])]
    done = subprocess.run([*command, str(SCRIPT), *row["args"].split()], capture_output=True, text=True, timeout=PATIENCE_S)
    answer: dict[str, Any] = json.loads(done.stdout or "{}")
    if "peak_requested" not in answer or answer["peak_requested"] is None:
        raise RuntimeError(answer.get("why_not") or last_line(done.stderr))
    return answer


def percent_off(planned: int, late: int, pieces: int, measured: int) -> float:
    """In percent. What may be held for longer was held on the card when its peak was reached, or some of its pieces were, or it
    was not: the nearest counts. DDP's buckets are one piece; of FSDP1's units there are two."""
    return min((100 * ((planned + late * held // pieces) / measured - 1) for held in range(pieces + 1)), key=abs)


def compare(measured: pathlib.Path, oomph: str, only: str) -> int:
    worst = 0.0
    print("| world | rank | job | requested | allocated | reserved | seconds |\n| ---: | ---: | --- | ---: | ---: | ---: | ---: |")
    for line in measured.read_text().splitlines():
        row = json.loads(line)
        if only not in row["args"]:
            continue
        name = f"| {row['world']} | {row['rank']} | {row['args']} |"
        if "failed" in row:
            print(f"{name} not measured: {row['failed']} | | | |", flush=True)
            continue
        began = time.monotonic()
        try:
            answer = plan(oomph, row)
        except (RuntimeError, subprocess.TimeoutExpired, json.JSONDecodeError) as error:
            print(f"{name} {error} | | | |", flush=True)
            worst = float("inf")
            continue
        pieces = 2 if "fsdp1" in row["args"] else 1
        off = [percent_off(answer[peak], answer["late_bytes"], pieces, row[peak]) for peak in PEAKS]
        worst = max(worst, *map(abs, off))
        took = time.monotonic() - began
        print(f"{name} " + " | ".join(f"{percent:+.3f}%" for percent in off) + f" | {took:.1f} |", flush=True)
    return int(worst > ALLOWED_PERCENT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    measuring = verbs.add_parser("measure", help="on a real GPU")
    measuring.add_argument("--at-once", type=int, default=1, help="how many jobs run beside each other; FSDP1 frees when the GPU is done, so its jobs need it alone")
    comparing = verbs.add_parser("compare", help="with the plan")
    comparing.add_argument("measured", type=pathlib.Path)
    comparing.add_argument("--oomph", default="oomph")
    for verb in verbs.choices.values():
        verb.add_argument("--only", default="", help="the jobs whose arguments contain this")
    options = parser.parse_args()
    if options.verb == "measure":
        measure(options.only, options.at_once)
        return 0
    return compare(options.measured, options.oomph, options.only)


if __name__ == "__main__":
    sys.exit(main())
