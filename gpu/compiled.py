"""Compiled jobs, generate loops and adapters: their peaks on a real GPU, and what `oomph plan` says of them.

    python3 gpu/compiled.py measure --out compiled.jsonl [--at-once 5] [--only compile]
    python3 gpu/compiled.py compare compiled.jsonl --oomph target/release/oomph [--only generate]

`measure` needs torch, torchvision, transformers and a GPU of 40 GiB or more; jobs run beside each other, since none sees
the other's memory. `compare` needs none, and writes a table of errors. `--only` takes jobs with that text in their line.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from compare_plan import PEAKS, say_errors

JOB = pathlib.Path(__file__).resolve().with_name("compiled_job.py")
JOBS = [
    "compile --model gpt2 --dtype fp32 --batch 8 --length 512",
    "compile --model gpt2 --dtype amp --batch 8 --length 512",
    "compile --model gpt2 --dtype bf16 --batch 16 --length 512 --infer",
    "compile --model bert --dtype bf16 --batch 16 --length 384",
    "compile --model bert --dtype fp32 --batch 16 --length 384 --mode reduce-overhead --infer",
    "compile --model llama --dtype bf16 --batch 8 --length 512",
    "compile --model llama --dtype amp --batch 4 --length 512 --mode reduce-overhead",
    "compile --model llama --dtype bf16 --batch 4 --length 512 --mode max-autotune-no-cudagraphs",
    "compile --model llama --dtype bf16 --batch 8 --length 512 --vary-length",
    "compile --model vit_b_16 --dtype amp --batch 32 --length 224",
    "compile --model resnet50 --dtype fp32 --batch 32 --length 224",
    "compile --model mlp --dtype fp32 --batch 8192 --mode reduce-overhead",
    "compile --model mlp-break --dtype bf16 --batch 8192",
    "compile --model mlp-kernel --dtype fp32 --batch 8192",
    "compile --model unet --dtype bf16 --batch 8 --length 128",
    "generate --model gpt2 --dtype fp32 --batch 8 --length 256 --new 64",
    "generate --model gpt2 --dtype bf16 --batch 16 --length 128 --new 128 --cache none",
    "generate --model gpt2 --dtype bf16 --batch 16 --length 256 --new 128 --cache hand",
    "generate --model llama --dtype bf16 --batch 16 --length 512 --new 64",
    "generate --model llama --dtype bf16 --batch 16 --length 512 --new 64 --cache static",
    "generate --model llama --dtype fp32 --batch 8 --length 256 --new 64 --cache hand",
    "generate --model qwen --dtype bf16 --batch 32 --length 256 --new 64",
    "generate --model qwen --dtype bf16 --batch 8 --length 512 --new 64 --cache static",
    "generate --model opt --dtype fp32 --batch 8 --length 256 --new 64",
    "generate --model opt --dtype bf16 --batch 16 --length 512 --new 64 --cache hand",
    "adapter --kind lora --model llama --dtype bf16 --batch 8 --length 512",
    "adapter --kind lora --model opt --dtype amp --batch 8 --length 512",
    "adapter --kind lora --model llama --dtype bf16 --batch 8 --length 512 --checkpointing",
    "adapter --kind dora --model llama --dtype bf16 --batch 4 --length 512",
    "adapter --kind ia3 --model qwen --dtype bf16 --batch 8 --length 512",
    "adapter --kind bottleneck --model llama --dtype fp32 --batch 4 --length 512",
    "adapter --kind qlora8 --model llama --dtype bf16 --batch 8 --length 512",
    "adapter --kind qlora4 --model llama --dtype bf16 --batch 8 --length 512",
    "adapter --kind prompt --model llama --dtype bf16 --batch 8 --length 512",
]


def last_line(text: str) -> dict[str, Any] | None:
    lines = [line for line in text.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else None


def measured(job: str) -> dict[str, Any]:
    """The job's peaks on the GPU that is there, or why it has none."""
    began = time.monotonic()
    done = subprocess.run([sys.executable, str(JOB), *job.split()], capture_output=True, text=True)
    row: dict[str, Any] = {"args": job, "seconds": round(time.monotonic() - began, 1)}
    found = last_line(done.stdout) if done.returncode == 0 else None
    return row | (found or {"error": done.stderr[-2000:]})


def planned(oomph: str, job: str, card: str) -> dict[str, Any]:
    """What a plan says of the job."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        command = [oomph, "plan", "--python", sys.executable, "--gpu", card, "--no-options", "--json", str(JOB), *job.split()]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    row: dict[str, Any] = {"args": job, "seconds": round(time.monotonic() - began, 1)}
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return row | {"error": (done.stderr or done.stdout)[-2000:]}
    found = {peak: answer[peak] for peak in PEAKS if answer.get(peak) is not None}
    return row | found | {"caveats": answer.get("caveats"), "error": answer.get("why_not") or ""}


def compare(options: argparse.Namespace) -> None:
    errors: dict[str, list[float]] = {peak: [] for peak in PEAKS}
    rows = [json.loads(line) for line in options.results.read_text().splitlines()]
    print("| job | requested | allocated | reserved | seconds |\n| --- | ---: | ---: | ---: | ---: |")
    for real in rows:
        if options.only not in real["args"] or PEAKS[0] not in real:
            continue
        ours = planned(options.oomph, real["args"], options.card)
        if PEAKS[0] not in ours:
            print(f"| {real['args']} | {ours['error'].strip().splitlines()[-1:]} | | | {ours['seconds']} |", flush=True)
            continue
        off = [100 * (ours[peak] / real[peak] - 1) for peak in PEAKS]
        for peak, one in zip(PEAKS, off):
            errors[peak].append(one)
        print(f"| {real['args']} | " + " | ".join(f"{one:+.3f}%" for one in off) + f" | {ours['seconds']} |", flush=True)
        if options.caveats:
            print("\n".join(f"  {caveat}" for caveat in ours["caveats"] or []))
    say_errors(errors)


def measure(options: argparse.Namespace) -> None:
    jobs = [job for job in JOBS if options.only in job]
    with ThreadPoolExecutor(options.at_once) as pool, open(options.out, "a") as out:
        for row in pool.map(measured, jobs):
            print(json.dumps(row), file=out, flush=True)
            print(json.dumps(row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    taken = verbs.add_parser("measure")
    taken.add_argument("--out", required=True)
    taken.add_argument("--at-once", type=int, default=5)
    asked = verbs.add_parser("compare")
    asked.add_argument("results", type=pathlib.Path)
    asked.add_argument("--oomph", default="oomph")
    asked.add_argument("--card", default="H200")
    asked.add_argument("--caveats", action="store_true", help="also what the plans remark")
    for verb in (taken, asked):
        verb.add_argument("--only", default="")
    options = parser.parse_args()
    measure(options) if options.verb == "measure" else compare(options)


if __name__ == "__main__":
    main()
