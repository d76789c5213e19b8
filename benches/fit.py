"""`oomph fit` on the phantom GPU: thirty jobs on cards of half to nearly all that they need. Writes a table.

    python3 benches/fit.py --python PYTHON [--oomph BIN] [--jobs 0:30] [--out fit.json]

PYTHON has PyTorch, transformers, torchvision, accelerate and pytorch_lightning. For each job: does what is chosen fit, and
does nothing that was tried and is cheaper?
"""

from __future__ import annotations

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
JOB = HERE.parent / "python/tests/measured/job.py"
JOBS_OF_OURS = HERE / "fit_jobs"
FLAGS = ["--vary", "--batch", "--accumulate", "--accumulate"]
# The script, whether its flags are named to oomph, its words, and the share of its need that the card has.
JOBS: list[tuple[pathlib.Path, bool, str, float]] = [
    (JOB, True, "--model gpt2 --batch 8 --opt adamw --dtype bf16", 0.7),
    (JOB, True, "--model gpt2 --batch 16 --length 128 --opt sgd", 0.5),
    (JOB, True, "--model opt125m --batch 16 --opt adam --dtype fp16", 0.6),
    (JOB, True, "--model bert --batch 16 --length 384 --opt adamw --dtype fp16", 0.8),
    (JOB, True, "--model distilbert --batch 32 --opt adamw", 0.55),
    (JOB, True, "--model pythia160m --batch 8 --opt adamw --dtype bf16", 0.9),
    (JOB, True, "--model t5small --batch 16 --opt adam --dtype bf16", 0.65),
    (JOB, True, "--model qwen05b --batch 4 --opt adamw --dtype bf16", 0.75),
    (JOB, True, "--model llama300m --batch 8 --opt adamw --dtype pure_bf16", 0.6),
    (JOB, True, "--model roberta --batch 16 --opt adamw", 0.5),
    (JOB, True, "--model albert --batch 16 --opt adam", 0.8),
    (JOB, True, "--model bart --batch 16 --length 128 --opt adam --dtype fp16", 0.95),
    (JOB, True, "--model vit_b_16 --batch 32 --opt adamw", 0.7),
    (JOB, True, "--model resnet50 --batch 64 --opt momentum --dtype bf16", 0.85),
    (JOB, True, "--model regnet_y_400mf --batch 64 --opt adamw", 0.6),
    (JOB, True, "--model convnext_tiny --batch 32 --opt adamw", 0.75),
    (JOB, True, "--model swin_t --batch 32 --opt adamw --dtype bf16", 0.5),
    (JOB, True, "--model efficientnet_b0 --batch 64 --opt rmsprop", 0.7),
    (JOB, True, "--model mobilenet_v3_large --batch 128 --opt sgd", 0.9),
    (JOB, True, "--model llama300m --batch 4 --length 512 --opt adagrad", 0.95),
    (JOBS_OF_OURS / "trainer_gpt2.py", False, "", 0.6),
    (JOBS_OF_OURS / "trainer_t5.py", False, "", 0.75),
    (JOBS_OF_OURS / "trainer_bert.py", False, "", 0.5),
    (JOBS_OF_OURS / "lightning_vit.py", False, "", 0.7),
    (JOBS_OF_OURS / "lightning_text.py", False, "", 0.55),
    (JOBS_OF_OURS / "accelerate_gpt2.py", False, "", 0.8),
    (JOBS_OF_OURS / "lora_llama.py", True, "", 0.5),
    (JOBS_OF_OURS / "lora_llama.py", True, "--batch 16", 0.9),
    (JOBS_OF_OURS / "diffusion_unet.py", True, "", 0.6),
    (JOBS_OF_OURS / "detection_ssd.py", False, "", 0.85),
]


class Bench:
    """The command and where it works."""

    def __init__(self, options: argparse.Namespace, folder: pathlib.Path) -> None:
        self.oomph = options.oomph
        self.python = options.python
        self.folder = folder

    def say(self, number: int, verb: str, *words: str) -> tuple[int, dict[str, Any] | None, str]:
        folder = self.folder / str(number)
        folder.mkdir(exist_ok=True)
        done = subprocess.run(
            [self.oomph, verb, "--python", self.python, "--json", *words], cwd=folder, capture_output=True, text=True
        )
        return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr

    def row(self, number: int) -> dict[str, Any]:
        """What there is to say of one job."""
        script, has_flags, words, share = JOBS[number]
        row: dict[str, Any] = {"job": f"{script.stem} {words}".strip(), "share": share}
        code, plan, said = self.say(number, "plan", "--no-options", "--gpu", "H200", str(script), *words.split())
        if plan is None or plan.get("peak_reserved") is None:
            return {**row, "trouble": said[-300:] or str(plan)[-300:]}
        row["needs"] = plan["peak_reserved"]
        limit = int(share * plan["peak_reserved"])
        flags = FLAGS if has_flags else []
        began = time.monotonic()
        code, fit, said = self.say(
            number, "fit", "--dry-run", "--limit", str(limit), *flags, str(script), *words.split()
        )
        row |= {"limit": limit, "seconds": round(time.monotonic() - began), "code": code}
        if fit is None:
            return {**row, "trouble": said[-300:]}
        chosen = fit["chosen"]
        if chosen is None:
            return {**row, "trouble": "nothing fits", "tried": len(fit["tried"])}
        cheaper = [tried for tried in fit["tried"] if tried["costs"] < chosen["costs"]]
        return {
            **row,
            "chosen": [measure["what"] for measure in chosen["measures"]],
            "peak": chosen["peak_reserved"],
            "costs": chosen["costs"],
            "tried": len(fit["tried"]),
            "cheaper": len(cheaper),
            "fits": chosen["peak_reserved"] <= limit,
            "cheapest": not any(tried["fits"] for tried in cheaper),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--oomph", default=shutil.which("oomph") or "oomph")
    parser.add_argument("--jobs", default=f"0:{len(JOBS)}")
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--out")
    options = parser.parse_args()
    first, last = map(int, options.jobs.split(":"))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.at_once) as pool:
        rows = []
        for row in pool.map(Bench(options, pathlib.Path(folder)).row, range(first, last)):
            rows.append(row)
            mib = {name: row[name] >> 20 for name in ("needs", "limit", "peak") if name in row}
            print({**row, **mib}, flush=True)
            if options.out:
                pathlib.Path(options.out).write_text(json.dumps(rows, indent=1))
    good = sum(bool(row.get("fits") and row.get("cheapest")) for row in rows)
    print(f"{good} of {len(rows)}: what is chosen fits, and nothing cheaper that was tried does")


main()
