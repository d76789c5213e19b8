"""Measures what oomph claims about its speed, each beside what users have today, and prints the tables of
benches/README.md. Needs the release build's tools only; `./x bench` calls it.

    python3 benches/run.py [--rounds 5] [--work DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELEASE = ROOT / "target/release"

# Loads a pickle as people do and prints the seconds and the peak memory of the process in MB. It ends without taking
# the values down again, which would only make it slower.
PICKLE = """
import gc, os, pickle, resource, sys, time
if sys.argv[2] == "off": gc.disable()
began = time.perf_counter()
value = pickle.load(open(sys.argv[1], "rb"))
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, flush=True)
os._exit(0)
"""


def build() -> None:
    subprocess.run(
        ["cargo", "build", "--release", "--locked", "--no-default-features", "-p", "oomph", "-p", "oomph-testkit",
         "--bins", "--examples"],
        cwd=ROOT, check=True,
    )


def generate(path: pathlib.Path, *options: str) -> pathlib.Path:
    subprocess.run([RELEASE / "examples/generate", path, *options], check=True, stdout=subprocess.DEVNULL)
    return path


def run(*command: object) -> tuple[float, float]:
    """Seconds and peak memory in MB of a whole process."""
    began = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    assert status == 0, command
    return seconds, usage.ru_maxrss / 1024


def loaded(*command: object) -> tuple[float, float]:
    """Seconds of the loading alone and peak memory in MB, as the process itself says."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    seconds, memory = done.stdout.split()
    return float(seconds), float(memory)


def middle(samples: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(s for s, _ in samples), statistics.median(m for _, m in samples)


def reading(path: pathlib.Path, rounds: int) -> None:
    ways = {
        "pickle.load, as people call it": lambda: loaded(sys.executable, "-c", PICKLE, path, "on"),
        "pickle.load, garbage collector off": lambda: loaded(sys.executable, "-c", PICKLE, path, "off"),
        "oomph's reader": lambda: loaded(RELEASE / "examples/read_time", path),
        "oomph inspect, the whole process": lambda: run(RELEASE / "oomph", "inspect", path),
    }
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, measure in ways.items():
            samples[name].append(measure())
    ours_seconds, ours_memory = middle(samples["oomph's reader"])
    print(f"\n## Reading 1,000,000 events with 60-frame stacks ({path.stat().st_size / 1e6:.0f} MB)\n")
    print("| | seconds | × the reader | peak MB | the reader's share |\n|---|---|---|---|---|")
    for name in ways:
        seconds, memory = middle(samples[name])
        print(f"| {name} | {seconds:.3f} | {seconds / ours_seconds:.1f} | {memory:.0f} | {ours_memory / memory:.2f} |")


def replaying(path: pathlib.Path) -> None:
    print("\n## Replaying the same file, one core\n")
    print("| settings | million events a second |\n|---|---|")
    for file, name in [(path, "generated"), (ROOT / "fixtures/grpo/snapshot.pickle.gz", "fixtures/grpo")]:
        done = subprocess.run([RELEASE / "examples/replay_rate", file], capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            settings, rate = line.split("\t")
            print(f"| {name}, {settings} | {rate} |")


def verbs(big: pathlib.Path, failing: pathlib.Path, rounds: int) -> None:
    recording = ROOT / "fixtures/mt5-finetune/snapshot.pickle.gz"
    document = subprocess.run([RELEASE / "oomph", "tune", recording, "--json"], capture_output=True, check=True).stdout
    settings = len(json.loads(document)["candidates"])
    print("\n## Whole commands, all cores\n")
    print("| | seconds | peak MB |\n|---|---|---|")
    for name, command in [
        ("explain, 1,000,000 events, no failure", ("explain", big)),
        ("explain, 1,000,000 events, ends in an OOM", ("explain", failing)),
        (f"tune, {settings} settings, fixtures/mt5-finetune (97,526 events)", ("tune", recording)),
    ]:
        seconds, memory = middle([run(RELEASE / "oomph", *command) for _ in range(rounds)])
        print(f"| {name} | {seconds:.2f} | {memory:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", help="where the generated snapshots go; they are kept")
    args = parser.parse_args()
    build()
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(args.work or temporary)
        big = generate(work / "million.pickle", "--events", "1000000", "--depth", "60")
        failing = generate(work / "million-oom.pickle", "--events", "1000000", "--depth", "60", "--oom")
        print(f"CPython {sys.version.split()[0]}, {os.cpu_count()} cores, medians of {args.rounds} rounds")
        reading(big, args.rounds)
        replaying(big)
        verbs(big, failing, args.rounds)


if __name__ == "__main__":
    main()
