"""Verdicts on failures of a real card: `python3 gpu/verdicts.py --oomph BIN --cases oom_cases.py`.

Each case runs under `oomph run` with a limit that it exceeds. A row: the exit code, cause and kind of the verdict, the
lines to blame, the first cure and for how long the job lives with it, and how many lines the verdict took.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LIMITS = {
    "optimizer_step": "3GiB",
    "loss_sum": "4GiB",
    "keep_outputs": "4GiB",
    "too_big_batch": "12GiB",
    "validation_no_grad": "6GiB",
    "ragged": "5GiB",
    "kv_generate": "5GiB",
    "other_process": None,
    "catch_and_halve": "12GiB",
    "compiled": "8GiB",
    "checkpoint_loading": "6GiB",
    "attention_n2": "20GiB",
    "thread_leak": "4GiB",
    "cycle": "4GiB",
    "grad_not_zeroed_double": "8GiB",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--oomph", required=True)
    parser.add_argument("--cases", required=True)
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    oomph, cases = os.path.abspath(chosen.oomph), os.path.abspath(chosen.cases)
    for name, limit in LIMITS.items():
        if not name.startswith(tuple(chosen.only.split(","))):
            continue
        with tempfile.TemporaryDirectory() as folder:
            limited = ["--limit", limit] if limit else []
            words = [oomph, "run", *limited, "--python", sys.executable, cases, name]
            try:
                done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=170)
            except subprocess.TimeoutExpired:
                print(f"{name}: took too long", flush=True)
                continue
            said = done.stderr.rfind("\nout of memory on GPU")
            shown = done.stderr[said:].strip() if said >= 0 else done.stderr.strip()[-400:]
            asked = subprocess.run([oomph, "explain", ".oomph/last", "--json"], cwd=folder, capture_output=True, text=True)
            document = json.loads(asked.stdout or "{}")
            document = document[0] if isinstance(document, list) else document
            verdict = next((oom.get("verdict") for oom in document.get("ooms") or []), None) or {}
            lines = [f"{pathlib.Path(c['file']).name}:{c['line']}" for c in verdict.get("culprits", [])[:3]]
            cure = next(iter(verdict.get("cures", [])), {})
            print(f"== {name}: exit {done.returncode}, {verdict.get('cause')}, {verdict.get('kind')}, {lines}")
            print(f"   do: {cure.get('do')} ({cure.get('how')}, {cure.get('lives')}); {len(shown.splitlines())} lines")
            print("\n".join(f"   | {line}" for line in shown.splitlines()[:16]), flush=True)


if __name__ == "__main__":
    main()
