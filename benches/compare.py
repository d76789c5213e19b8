"""Two builds of oomph beside each other, by turns: is one slower than the other?

    python3 benches/compare.py OLD/target/release NEW/target/release [--rounds 7] [--work DIR]

Each row is a hot path of benches/README.md: seconds of either build and their ratio. The quickest of the rounds counts:
the programs do the same each time, so whatever a round takes more is other work of the machine. Both folders need
`cargo build --release -p oomph -p oomph-testkit --bins --examples`.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import tempfile
from collections.abc import Callable

import run

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"


def rates(release: pathlib.Path, file: pathlib.Path) -> dict[str, float]:
    """Seconds a million events, by settings."""
    done = subprocess.run([release / "examples/replay_rate", file], capture_output=True, text=True, check=True)
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return {f"replay, {file.parent.name}, {settings}": 1 / float(rate) for settings, rate in rows}


def commands(release: pathlib.Path, work: pathlib.Path) -> dict[str, Callable[[], float]]:
    big, failing, log = work / "million.pickle", work / "million-oom.pickle", work / "long.log"
    recording = FIXTURES / "mt5-finetune/snapshot.pickle.gz"
    oomph = release / "oomph"
    return {
        "read, 1,000,000 events": lambda: run.loaded(release / "examples/read_time", big)[0],
        "inspect, 1,000,000 events": lambda: run.run(oomph, "inspect", big)[0],
        "explain, 1,000,000 events": lambda: run.run(oomph, "explain", big)[0],
        "explain, 1,000,000 events, ends in an OOM": lambda: run.run(oomph, "explain", failing)[0],
        "explain, a log of 200 MB": lambda: run.run(oomph, "explain", log)[0],
        "tune, mt5-finetune": lambda: run.run(oomph, "tune", recording)[0],
    }


def prepare(release: pathlib.Path, work: pathlib.Path) -> None:
    for name, more in [("million", []), ("million-oom", ["--oom"])]:
        path = work / f"{name}.pickle"
        if not path.exists():
            words = [release / "examples/generate", path, "--events", "1000000", "--depth", "60", *more]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    if not (work / "long.log").exists():
        line = "epoch 3 step %d loss 2.31 lr 1e-4 throughput 812 samples/s memory 11.2 GiB allocated\n"
        with open(work / "long.log", "w") as file:
            file.writelines(line % step for step in range(2_300_000))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--work", help="where the generated inputs go; they are kept")
    args = parser.parse_args()
    samples: dict[str, tuple[list[float], list[float]]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(args.work or temporary)
        prepare(args.new, work)
        for _ in range(args.rounds):
            for side, release in enumerate((args.old, args.new)):
                for name, measure in commands(release, work).items():
                    samples.setdefault(name, ([], []))[side].append(measure())
                for file in [work / "million.pickle", FIXTURES / "grpo/snapshot.pickle.gz"]:
                    for name, seconds in rates(release, file).items():
                        samples.setdefault(name, ([], []))[side].append(seconds)
    print("| | old, s | new, s | new ÷ old |\n|---|---|---|---|")
    for name, (old, new) in samples.items():
        before, after = min(old), min(new)
        print(f"| {name} | {before:.3f} | {after:.3f} | {after / before:.3f} |")


if __name__ == "__main__":
    main()
