#!/usr/bin/env python3
"""Runs the programs of folklore/programs and writes docs/folklore.md from what they say and measure.

    python3 folklore/run_claims.py              # runs all, writes the page
    python3 folklore/run_claims.py --check      # runs all, and fails where the page says something else
    python3 folklore/run_claims.py --only NAME… # runs these and prints what they measure

Each program asserts what its ruling says, so one that ends well has shown it. Those of PyTorch run on a GPU that is not
there, those of TensorFlow and JAX on the CPU, all as forks of a Python that has imported the framework
(verdicts/warm.py). The Python is the one that runs this; the phantom's library is that of its `oomph`, or PHANTOM.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "folklore.md"
sys.path += [str(HERE), str(HERE.parent / "verdicts")]

import page  # noqa: E402
import warm  # noqa: E402
from claim import BadProgram, Claim, read  # noqa: E402

# The card: 16 GiB, of which a context takes what one took on an H200.
CARD = f"name=a card of 16 GiB;total={16 << 30};context={527 << 20}"
# What a small program takes is mostly the end of its interpreter: left out here.
RUN = """\
import os, runpy, sys
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
sys.stdout.flush()
os._exit(0)
"""
LONGEST = 300


def measured(claim: Claim, python: str, environment: dict[str, str]) -> page.Figures:
    """What the program prints. Raises `BadProgram` if it fails, and so has not shown what it claims."""
    command = [python, "-c", RUN, str(claim.path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONGEST)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise BadProgram(f"{claim.path.name} fails, so its ruling is not shown: {last}")
    return page.figures(claim, done.stdout)


def run(claims: list[Claim], phantom: str) -> dict[str, page.Figures]:
    """What each of the programs measures, by its name."""
    dropped = ("LD_PRELOAD", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "OOMPH_RUN")
    plain = {name: value for name, value in os.environ.items() if name not in dropped}
    plain |= {"KERAS_BACKEND": "tensorflow", "JAX_PLATFORMS": "cpu"}
    on_phantom = {**plain, "LD_PRELOAD": phantom, "OOMPH_PHANTOM": CARD}
    found: dict[str, page.Figures] = {}
    for is_torch, modules in ((True, warm.PYTORCH), (False, ("tensorflow", "keras", "jax"))):
        chosen = [claim for claim in claims if claim.uses_pytorch == is_torch]
        if chosen:
            with warm.python(sys.executable, phantom if is_torch else None, modules, plain) as python:
                for claim in chosen:
                    found[claim.name] = measured(claim, python, on_phantom if is_torch else plain)
    return found


def installed_phantom() -> str:
    """The phantom's library that came with this Python's oomph, or PHANTOM."""
    packages = pathlib.Path(sys.executable).parent.parent.glob("lib/python3*/site-packages/oomph/liboomph_phantom.so")
    path = os.environ.get("PHANTOM") or str(next(packages, ""))
    if not os.path.exists(path):
        sys.exit("run_claims.py: no liboomph_phantom.so: install oomph's wheel beside this Python, or set PHANTOM")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description="Tests what people say about GPU memory.")
    parser.add_argument("--check", action="store_true", help="compare the page instead of writing it")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="run these and print their figures")
    arguments = parser.parse_args()
    # TensorFlow tells about the processor as it starts.
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    try:
        claims = read(HERE / "programs")
        if arguments.only:
            unknown = sorted(set(arguments.only) - {claim.name for claim in claims})
            if unknown:
                said = f"no program {unknown[0]} in folklore/programs: leave out --only to run all"
                print(f"run_claims.py: {said}", file=sys.stderr)
                sys.exit(2)
            claims = [claim for claim in claims if claim.name in arguments.only]
        found = run(claims, installed_phantom())
    except BadProgram as error:
        sys.exit(f"run_claims.py: {error}")
    text = page.text(claims, found)
    if arguments.only:
        print("\n".join(page.section(claim, found[claim.name]) for claim in claims))
    elif not arguments.check:
        PAGE.write_text(text)
    elif PAGE.read_text() != text:
        sys.exit("run_claims.py: docs/folklore.md says something else: run this without --check, read the difference")


if __name__ == "__main__":
    main()
