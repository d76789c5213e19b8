#!/usr/bin/env python3
"""Runs the PyTorch programs of folklore/ on this machine's GPU: does every ruling hold, and are the figures the same?

    python3 gpu/folklore.py

Needs PyTorch and a GPU, not oomph. Prints the programs that fail, and the figures that are others than in
docs/folklore.md, which were measured on the phantom GPU. Ends with 1 if a ruling does not hold.
"""

from __future__ import annotations

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "folklore"), str(ROOT / "verdicts")]

import page  # noqa: E402
import run_claims  # noqa: E402
import warm  # noqa: E402
from claim import BadProgram, read  # noqa: E402


def main() -> None:
    documented = (ROOT / "docs" / "folklore.md").read_text()
    claims = [claim for claim in read(ROOT / "folklore" / "programs") if claim.uses_pytorch]
    failed = same = 0
    with warm.python(sys.executable, None) as python:
        for claim in claims:
            try:
                section = page.section(claim, run_claims.measured(claim, python, dict(os.environ)))
            except BadProgram as error:
                failed += 1
                print(error)
                continue
            other = [line for line in section.splitlines() if line not in documented.splitlines()]
            same += not other
            if other:
                print("\n".join([f"{claim.name}: measured here", *other]))
    print(f"{len(claims) - failed} of {len(claims)} rulings hold on this GPU; {same} with the figures of the page")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
