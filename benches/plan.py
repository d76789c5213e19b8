"""How near `oomph plan` comes to what was measured, and what it costs.

    python benches/plan.py --measured measured.jsonl --job job.py [--python PATH] [--only REGEX] [--jobs 2] [--unseen]

Each line of the measured file holds the job's `args` and the `peak_requested`, `peak_allocated` and `peak_reserved`
that PyTorch counted on the card. Every job is planned for that card; the table gives the error of each peak, seconds
and the largest resident memory of any process of it. With --unseen the phantom's table does not tell what was measured of a
shape of convolution: how plans are of models that nobody has measured.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time
from typing import Any

PEAKS = ("peak_requested", "peak_allocated", "peak_reserved")

# Jobs with their peaks on a real card.
JOBS = pathlib.Path(__file__).resolve().parent.parent / "python" / "tests" / "measured"


def plan(oomph: str, job: str, words: list[str], gpu: str, python: str | None) -> dict[str, Any]:
    """Plans one job in a folder of its own: the answer, and what it took."""
    command = [oomph, "plan", "--json", "--no-options", "-q", "--gpu", gpu]
    if python:
        command += ["--python", python]
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        with open(os.path.join(folder, "answer.json"), "w+") as answer, open(os.path.join(folder, "said"), "w+") as said:
            child = subprocess.Popen([*command, job, *words], cwd=folder, stdout=answer, stderr=said)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            answer.seek(0)
            said.seek(0)
            text = answer.read()
            try:
                found: dict[str, Any] = json.loads(text)
            except ValueError:
                found = {"why_not": said.read().strip()[-200:]}
    return {**found, "seconds": time.monotonic() - began, "rss": usage.ru_maxrss << 10}


def percentile(values: list[float], share: float) -> float:
    """The value that `share` of all do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered) + 0.5) - 1))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measured", type=pathlib.Path, default=JOBS / "h200.jsonl")
    parser.add_argument("--job", type=pathlib.Path, default=JOBS / "job.py")
    parser.add_argument("--gpu", default="H200")
    parser.add_argument("--oomph", default="target/release/oomph")
    parser.add_argument("--python")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=1, help="how many to plan at a time; seconds are true with 1")
    parser.add_argument("--unseen", action="store_true", help="leave the job's own convolutions out of the table")
    args = parser.parse_args()
    if args.unseen:
        os.environ["OOMPH_PHANTOM_UNSEEN"] = "1"
    rows = [json.loads(line) for line in args.measured.read_text().splitlines() if line.strip()]
    rows = [row for row in rows if "peak_reserved" in row and re.search(args.only, row["args"])]
    oomph, job = str(pathlib.Path(args.oomph).resolve()), str(args.job.resolve())
    print("| job | requested | allocated | reserved | between | seconds | RSS MiB |\n|---|---|---|---|---|---|---|")
    errors: dict[str, list[float]] = {name: [] for name in PEAKS}
    seconds, resident, failed, covered = [], [], 0, 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        planned = pool.map(lambda row: plan(oomph, job, row["args"].split(), args.gpu, args.python), rows)
        for row, answer in zip(rows, planned):
            seconds.append(answer["seconds"])
            resident.append(answer["rss"])
            if answer.get("peak_reserved") is None or answer.get("why_not"):
                failed += 1
                print(f"| {row['args']} | failed: {answer.get('why_not')} |", flush=True)
                continue
            parts = []
            for name in PEAKS:
                error = 100 * (answer[name] / row[name] - 1)
                errors[name].append(error)
                parts.append(f"{error:+.3f}%")
            # What the plan says of its own doubt.
            bounds = (answer.get("peak_reserved_least"), answer.get("peak_reserved_most"))
            covered += all(bounds) and bounds[0] <= row["peak_reserved"] <= bounds[1]
            parts.append(" to ".join(f"{100 * (bound / row['peak_reserved'] - 1):+.2f}%" for bound in bounds if bound))
            print(
                f"| {row['args']} | {' | '.join(parts)} | {answer['seconds']:.1f} | {answer['rss'] >> 20} |", flush=True
            )
    print(f"\n{len(rows)} jobs, {failed} failed; {os.cpu_count()} cores, {args.jobs} at a time; {covered} hold what the plan says may be held\n")
    for name, found in errors.items():
        if found:
            size = [abs(error) for error in found]
            print(
                f"{name}: median {statistics.median(size):.3f}%, 95th percentile {percentile(size, 0.95):.3f}%, "
                f"lowest {min(found):+.3f}%, highest {max(found):+.3f}%"
            )
    if seconds:
        print(
            f"seconds: median {statistics.median(seconds):.1f}, most {max(seconds):.1f}; "
            f"resident memory: median {statistics.median(resident) / 2**20:.0f} MiB, most {max(resident) / 2**20:.0f} MiB"
        )


if __name__ == "__main__":
    main()
