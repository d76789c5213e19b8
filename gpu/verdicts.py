"""Verdicts on failures of a real card, and whether their cures hold.

    python3 gpu/verdicts.py --oomph BIN --cases oom_cases.py [--only loss_sum,ragged] [--keep DIR]

Each case runs under `oomph run` with a limit that it exceeds. A row: cause and kind of the verdict, the lines to blame,
the first cure and for how long the job lives with it, and how many lines the verdict took. Then the case runs again
with that cure: a change of its source (CURED), or the setting that was printed. The row says how long it lived.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any

LIMITS = {
    "optimizer_step": "3GiB",
    "loss_sum": "4GiB",
    "keep_outputs": "4GiB",
    "too_big_batch": "12GiB",
    "validation_no_grad": "6GiB",
    "ragged": "5GiB",
    "kv_generate": "3GiB",
    "other_process": None,
    "catch_and_halve": "12GiB",
    "compiled": "8GiB",
    "checkpoint_loading": "6GiB",
    "attention_n2": "20GiB",
    "thread_leak": "4GiB",
    "cycle": "4GiB",
    "grad_not_zeroed_double": "8GiB",
}

# The change that each cure asks for, as a user would make it.
CURED = {
    "optimizer_step": [("torch.optim.Adam(", "torch.optim.Adafactor(")],
    "loss_sum": [("total = total + l;", "total = total + l.item();")],
    "keep_outputs": [("kept.append(h.detach())", "kept.append(h.detach().cpu())")],
    "too_big_batch": [("range(3): F.cross", "range(3 * 256 // {batch}): F.cross"), ("256, 3, 224", "{batch}, 3, 224"), ("zeros(256", "zeros({batch}")],
    "validation_no_grad": [("m.eval(); outs", "m.eval(); torch.set_grad_enabled(False); outs")],
    "other_process": [("130*2**30", "1*2**30")],
    "checkpoint_loading": [
        ("map_location=D", 'map_location="cpu"'),
        ("m.load_state_dict(sd); o = torch.optim.AdamW(", "m.load_state_dict(sd); o = torch.optim.Adafactor("),
    ],
    "attention_n2": [
        ("a = (q @ q.transpose(-1, -2)).softmax(-1); (a @ q)", "a = F.scaled_dot_product_attention(q, q, q); a"),
    ],
    "thread_leak": [("append(o))", "append(o.detach().cpu()))")],
    "grad_not_zeroed_double": [
        ("best.append(m)", "best.append({{k: v.cpu() for k, v in m.state_dict().items()}}); del m"),
    ],
    "kv_generate": [("(48, 256)", "(24, 256)")],
    "ragged": [("(4, random", "(2, random")],
}


def explained(oomph: str, folder: str) -> dict[str, Any]:
    """The first failure of the last run."""
    asked = subprocess.run([oomph, "explain", ".oomph/last", "--json"], cwd=folder, capture_output=True, text=True)
    document = json.loads(asked.stdout or "{}")
    document = document[0] if isinstance(document, list) else document
    return next(iter(document.get("ooms") or []), {})


def run(oomph: str, cases: pathlib.Path, name: str, folder: str, setting: str = "") -> subprocess.CompletedProcess[str]:
    limit = LIMITS[name]
    limited = ["--limit", limit] if limit else []
    words = [oomph, "run", *limited, "--python", sys.executable, str(cases), name]
    env = {**os.environ, **dict([setting.split("=", 1)] if setting else [])}
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=170, env=env)


def cured(oomph: str, cases: pathlib.Path, name: str, cure: dict[str, Any]) -> str:
    """How long the case lives with its first cure."""
    text = cases.read_text()
    setting = cure["do"] if str(cure["do"]).startswith("PYTORCH_") else ""
    if not setting:
        parts = re.search(r"a (\d+)th of", cure["do"])
        batch = 256 // (int(parts[1]) if parts else 2)
        for old, new in CURED.get(name, []):
            new = new.format(batch=batch)
            assert old in text, (name, old)
            text = text.replace(old, new)
        if name not in CURED:
            return "no change is known here"
    with tempfile.TemporaryDirectory() as folder:
        changed = pathlib.Path(folder) / "cured.py"
        changed.write_text(text)
        done = run(oomph, changed, name, folder, setting)
        if f"COMPLETED {name}" in done.stdout:
            return "for good: completed"
        return f"exit {done.returncode}, step {explained(oomph, folder).get('step')}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oomph", required=True)
    parser.add_argument("--cases", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", help="where recordings of the failures are kept")
    chosen = parser.parse_args()
    oomph, cases = os.path.abspath(chosen.oomph), pathlib.Path(chosen.cases).resolve()
    for name in LIMITS:
        if not name.startswith(tuple(chosen.only.split(","))):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                done = run(oomph, cases, name, folder)
                oom = explained(oomph, folder)
                if chosen.keep:
                    for file in (pathlib.Path(folder) / ".oomph/last").glob("*"):
                        shutil.copy(file, pathlib.Path(chosen.keep) / f"{name}-{file.name}")
                verdict = oom.get("verdict") or {}
                cure = next(iter(verdict.get("cures", [])), None)
                lived = cured(oomph, cases, name, cure) if cure else ""
            except subprocess.TimeoutExpired:
                print(f"{name}: took too long", flush=True)
                continue
        said = done.stderr.rfind("\nout of memory on GPU")
        shown = done.stderr[said:].strip() if said >= 0 else done.stderr.strip()[-400:]
        lines = [f"{pathlib.Path(c['file']).name}:{c['line']}" for c in verdict.get("culprits", [])[:3]]
        print(f"== {name}: exit {done.returncode}, {verdict.get('cause')}, {verdict.get('kind')}, {lines}")
        if cure:
            print(f"   do: {cure['do']} ({cure['how']}, {cure['lives']}); {len(shown.splitlines())} lines")
            print(f"   failed in step {oom.get('step')}; with the cure: {lived}")
        print("\n".join(f"   | {line}" for line in shown.splitlines()[:16]), flush=True)


if __name__ == "__main__":
    main()
