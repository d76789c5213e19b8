"""Measures how long oomph takes to begin, from the wheel in a fresh environment, and prints the table of
benches/README.md. `./x wheel` makes the wheel.

    python3 benches/start.py [--rounds 20]
"""

from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

# The import alone, as the process itself times it.
IMPORT = """
import time
began = time.perf_counter()
import oomph
print(time.perf_counter() - began)
"""


def install(folder: pathlib.Path) -> pathlib.Path:
    """A fresh environment with the wheel; where its programs are."""
    [wheel] = (ROOT / "target/wheels").glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin/python", "-m", "pip", "install", "-q", "--no-index", "--no-deps", wheel]
    subprocess.run(pip, check=True, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    return folder / "bin"


def whole(*command: object) -> float:
    """Milliseconds of a process from start to end."""
    began = time.perf_counter()
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1000


def imported(python: pathlib.Path) -> float:
    """Milliseconds of `import oomph` in a fresh interpreter."""
    done = subprocess.run([python, "-c", IMPORT], check=True, capture_output=True, text=True)
    return float(done.stdout) * 1000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        programs = install(pathlib.Path(folder, "env"))
        ways = {
            "`oomph --version`, the whole process": (50, lambda: whole(programs / "oomph", "--version")),
            "`import oomph`": (30, lambda: imported(programs / "python")),
        }
        samples: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, (_, measure) in ways.items():
                samples[name].append(measure())
    print(f"CPython {sys.version.split()[0]}, {os.cpu_count()} cores, {rounds} rounds\n")
    print("| | median ms | slowest ms | bound ms |\n|---|---|---|---|")
    for name, (bound, _) in ways.items():
        print(f"| {name} | {statistics.median(samples[name]):.1f} | {max(samples[name]):.1f} | {bound} |")


if __name__ == "__main__":
    main()
