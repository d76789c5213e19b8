#!/usr/bin/env python3
"""What `oomph lint --prove` proves of the findings in programs whose fault is known.

    python3 benches/prove.py [--only 101,2] [--json FILE]

`oomph`, `python` and the phantom's library are those of the environment that this Python belongs to, or OOMPH, PYTHON and
PHANTOM. Every broken program of verdicts/programs with a finding runs as it is and with a change for each finding, on a
GPU that is not there, to its end. Those with a second try in `except` (OOL005) run under the limit of their label, for
that is where the second try comes; the others without one. A line for each finding, then the table of rules.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections import Counter
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Before this folder, which has a `run` of its own.
sys.path.insert(0, str(ROOT / "verdicts"))

import run as verdicts  # noqa: E402
import sources  # noqa: E402
import warm  # noqa: E402

LONGEST = 1800


def findings(oomph: str, python: str, phantom: str, script: pathlib.Path, limit: str) -> dict[str, Any]:
    """What `--prove --json` says of a script."""
    environment = {**os.environ, "OOMPH_PHANTOM_LIB": phantom}
    seen = subprocess.run([oomph, "lint", script.name, "--json"], cwd=script.parent, capture_output=True, text=True)
    found = json.loads(seen.stdout)["findings"]
    if not found:
        return {"findings": [], "proof": None}
    retries = any(each["rule"] == "OOL005" for each in found)
    command = [oomph, "lint", "--prove", "--json", "--python", python, "--timeout", "300"]
    command += ["--limit", limit] if retries else []
    command.append(script.name)
    done = subprocess.run(
        command, cwd=script.parent, env=environment, capture_output=True, text=True, timeout=LONGEST
    )
    if done.returncode != 1:
        sys.exit(f"prove.py: {script.name}: exit code {done.returncode}: {done.stderr.strip()}")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def size(number: int) -> str:
    if number == 0:
        return "0"
    if number < 1 << 10:
        return f"{number} B"
    return f"{number / 2**20:,.1f} MiB" if number >= 1 << 20 else f"{number / 2**10:,.1f} KiB"


def said(proof: dict[str, Any]) -> str:
    """The proof in a line."""
    if not proof["proved"]:
        return f"not proved: {proof['why_not']}"
    before, after = proof["before"], proof["after"]
    if before["runs_out"]:
        return "runs out; with the change it does not"
    keeps = before["keeps_bytes_per_step"], after["keeps_bytes_per_step"]
    if None not in keeps:
        return f"keeps {size(keeps[0])} a step; with the change {size(keeps[1])}"
    return f"needs {size(before['needs_bytes'])}; with the change {size(after['needs_bytes'])}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="how the names of programs begin, with commas")
    parser.add_argument("--json", type=pathlib.Path, help="also write every finding with its proof to this file")
    chosen = parser.parse_args()
    labels = [json.loads(line) for line in (ROOT / "verdicts" / "labels.jsonl").read_text().splitlines()]
    labels = [label for label in labels if label["file"].startswith(tuple(chosen.only.split(",")))]
    oomph, python, phantom = verdicts.tools()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, warm.python(python, phantom) as stand_in:
        sources.write(pathlib.Path(folder))
        for label in labels:
            script = pathlib.Path(folder, "broken", label["file"])
            document = findings(oomph, stand_in, phantom, script, label["limit"])
            for each in document["findings"]:
                proof = each["proof"] or document["proof"]
                rows.append({"file": label["file"], "rule": each["rule"], "line": each["line"], "proof": proof})
                print(f"{label['file']}:{each['line']} {each['rule']} {said(proof)}", flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=1) + "\n")
    counted = Counter(row["rule"] for row in rows)
    proved = Counter(row["rule"] for row in rows if row["proof"]["proved"])
    print("\n| rule | findings | proved |\n|---|---|---|")
    for rule in sorted(counted):
        print(f"| {rule} | {counted[rule]} | {proved[rule]} |")
    print(f"| all | {sum(counted.values())} | {sum(proved.values())} |")


if __name__ == "__main__":
    main()
