"""Compares a job on the phantom GPU with a recording of the same job on a real one, allocation by allocation.

    python gpu/compare_plan.py "job.py --model resnet18 --batch 64" real.pickle [--library target/release/liboomph_phantom.so]

prints the peaks of both, the first differences between the two sequences of allocations, and a table of the allocations
that one has and the other lacks.

    python gpu/compare_plan.py job.py results.jsonl --only resnet

where results.jsonl has the arguments and the measured peaks of many jobs of one script, prints a table of errors.
`--convolutions` prints instead what the real run's convolutions worked in, a JSON line each, as gpu/measure_cudnn.py does:
on the phantom each convolution then works in a size of its own, which shows where its workspace stands in the recording.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import pathlib
import pickle
import shlex
import subprocess
import statistics
import sys
import tempfile
from collections import Counter
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
PEAKS = ("peak_requested", "peak_allocated", "peak_reserved")
Event = dict[str, Any]

# Runs a script as a user would, with a history of allocations, and writes both down.
RUNNER = """
import json, os, pickle, runpy, sys
import torch
out, sys.argv = sys.argv[1], sys.argv[2:]
torch.cuda.memory._record_memory_history(context="alloc", stacks="python", max_entries=10**7)
sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
runpy.run_path(sys.argv[0], run_name="__main__")
stats = torch.cuda.memory_stats()
snapshot = torch.cuda.memory._snapshot()
snapshot["peaks"] = {f"peak_{k}": stats[f"{k}_bytes.all.peak"] for k in ("requested", "allocated", "reserved")}
with open(out, "wb") as file:
    pickle.dump(snapshot, file)
"""


def run(job: str, library: pathlib.Path, card: str, log: str = "") -> dict[str, Any]:
    """The job's snapshot on the phantom; `said` is what it wrote to standard error."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "phantom.pickle")
        environment = {**os.environ, "LD_PRELOAD": str(library), "OOMPH_PHANTOM": card}
        if log:
            environment["OOMPH_PHANTOM_LOG"] = log
        command = [sys.executable, "-c", RUNNER, str(out), *shlex.split(job)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if not out.exists():
            raise RuntimeError(f"the job failed on the phantom:\n{done.stderr[-2000:]}")
        return {**pickle.loads(out.read_bytes()), "said": done.stderr}


def allocations(snapshot: dict[str, Any]) -> list[Event]:
    events: list[Event] = next((trace for trace in snapshot["device_traces"] if trace), [])
    return [event for event in events if event["action"] == "alloc"]


def place(event: Event) -> str:
    """The innermost line that is not PyTorch's own."""
    frames = event.get("frames") or []
    own = [frame for frame in frames if "/torch/" not in frame["filename"]] or frames
    return f"{pathlib.Path(own[0]['filename']).name}:{own[0]['line']} {own[0]['name']}" if own else "no Python frame"


def differences(real: list[Event], ours: list[Event]) -> list[tuple[str, int, Event]]:
    """What is missing from ours (`-`) and what it has too much (`+`), in order."""
    matcher = difflib.SequenceMatcher(None, [e["size"] for e in real], [e["size"] for e in ours], autojunk=False)
    found = []
    for _, first, last, begin, end in (op for op in matcher.get_opcodes() if op[0] != "equal"):
        found += [("-", at, real[at]) for at in range(first, last)]
        found += [("+", at, ours[at]) for at in range(begin, end)]
    return found


def table(found: list[tuple[str, int, Event]]) -> None:
    count = Counter((sign, event["size"], place(event)) for sign, _, event in found)
    print(f"{'':2}{'times':>6} {'bytes':>14}  where")
    for (sign, size, where), times in sorted(count.items(), key=lambda item: -item[0][1] * item[1])[:40]:
        print(f"{sign:2}{times:6} {size:14}  {where}")


def percent(found: int, measured: int) -> float:
    return 100 * (found / measured - 1)


def compare(options: argparse.Namespace) -> None:
    """One job, allocation by allocation."""
    real = pickle.loads(options.real.read_bytes())
    ours = run(options.job, options.library, options.card)
    device: dict[str, Any] = next(iter(real.get("oomph", {}).get("devices", [])), {})
    for peak in PEAKS:
        measured, found = device.get(peak), ours["peaks"][peak]
        error = f"{percent(found, measured):+.3f}%" if measured else "not recorded"
        print(f"{peak}: phantom {found}, real {measured}, {error}")
    lacking = differences(allocations(real), allocations(ours))
    print(f"\nfirst of {len(lacking)} differences:")
    for sign, at, event in lacking[:20]:
        print(f"{sign} allocation {at}: {event['size']} bytes, {place(event)}")
    print()
    table(lacking)


def convolutions(options: argparse.Namespace) -> None:
    """The workspaces of a real run's convolutions, as far as both runs allocate the same besides."""
    ours = run(options.job, options.library, options.card, "conv-marks")
    asked = [line.removeprefix("oomph conv: ") for line in ours["said"].splitlines() if line.startswith("oomph conv: ")]
    marks = {int(size): question for question, _, size in (line.rpartition(" bytes=") for line in asked)}
    sizes = [event["size"] for event in allocations(ours)]
    real = [event["size"] for event in allocations(pickle.loads(options.real.read_bytes()))]
    found: dict[str, set[int]] = {}
    at = 0
    for number, size in enumerate(sizes):
        if at >= len(real):
            break
        if size in marks:
            following = next((size for size in sizes[number + 1 :] if size not in marks), None)
            if following is None:
                # Nothing after it tells whether it was allocated at all.
                break
            none = real[at] == following
            found.setdefault(marks[size], set()).add(0 if none else real[at])
            at += not none
        elif size == real[at]:
            at += 1
        else:
            break
    for question, answers in found.items():
        direction, kind, layout, *rest = question.split(" ")
        known = {key: [int(side) for side in value.split("x")] for key, value in (word.split("=") for word in rest)}
        if len(answers) == 1 and len(known["x"]) == 4:
            batch, *sides = known["x"]
            filters, _, *kernel = known["w"]
            moves = [*known["stride"], *known["pad"], *known["dilation"], *known["groups"]]
            shape = [kind, {"nchw": "first", "nhwc": "last"}[layout], batch, *sides, filters, *kernel, *moves]
            size = answers.pop()
            bytes_found = [size if direction == name else None for name in ("forward", "data", "filter")]
            print(json.dumps({"conv": shape, "bytes": bytes_found}))


def say_errors(errors: dict[str, list[float]]) -> None:
    """A line for each kind of peak: how far plans are off, in percent."""
    for peak, found in errors.items():
        sizes = sorted(map(abs, found))
        if sizes:
            high = sizes[min(len(sizes) - 1, int(0.95 * len(sizes)))]
            middle = statistics.median(sizes)
            print(f"{peak}: {len(sizes)} jobs, median {middle:.3f}%, 95th percentile {high:.3f}%, lowest {min(found):+.3f}%")


def survey(options: argparse.Namespace) -> None:
    """The errors of many jobs."""
    errors: dict[str, list[float]] = {peak: [] for peak in PEAKS}
    print("| job | requested | allocated | reserved |\n| --- | ---: | ---: | ---: |")
    for line in options.real.read_text().splitlines():
        measured = json.loads(line)
        if options.only not in measured["args"] or not measured.get(PEAKS[0]):
            continue
        try:
            peaks = run(f"{options.job} {measured['args']}", options.library, options.card)["peaks"]
        except RuntimeError as error:
            print(f"| {measured['args']} | {str(error).splitlines()[-1]} | | |", flush=True)
            continue
        row = [percent(peaks[peak], measured[peak]) for peak in PEAKS]
        for peak, off in zip(PEAKS, row, strict=True):
            errors[peak].append(off)
        print(f"| {measured['args']} | " + " | ".join(f"{off:+.3f}%" for off in row) + " |", flush=True)
    say_errors(errors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", help="the script and its arguments, as one word; for a table the script alone")
    parser.add_argument("real", type=pathlib.Path, help="a recording of it on a real GPU, or the results of many jobs")
    parser.add_argument("--only", default="", help="of many jobs, those whose arguments contain this")
    parser.add_argument("--library", type=pathlib.Path, default=ROOT / "target/release/liboomph_phantom.so")
    parser.add_argument("--card", default="", help="as OOMPH_PHANTOM describes it; an H200")
    parser.add_argument("--convolutions", action="store_true", help="print what the real run's convolutions worked in")
    options = parser.parse_args()
    if options.convolutions:
        return convolutions(options)
    survey(options) if options.real.suffix == ".jsonl" else compare(options)


if __name__ == "__main__":
    main()
