"""Jobs of many kinds: their peaks on a real GPU, and what `oomph plan` says of them.

    python3 gpu/planned.py measure --out planned.jsonl [--at-once 5] [--only REGEX] [--record FOLDER]
    python3 gpu/planned.py compare planned.jsonl --oomph target/release/oomph [--only REGEX]

`measure` needs torch, torchvision, transformers and a GPU of 40 GiB or more, and what some jobs need besides; jobs run
beside each other, since none sees the other's memory. With --record each leaves its recording in the folder, too, for
compare_plan.py. `compare` needs no GPU, and writes a table of errors; `between` is what the plan itself says may be held.
--only takes jobs whose line matches.
"""

from __future__ import annotations

import argparse
import json
import lzma
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from compare_plan import PEAKS, RUNNER, say_errors

# As compare_plan.py's, without a recording.
PEAKS_ONLY = """
import json, os, runpy, sys
import torch
out, sys.argv = sys.argv[1], sys.argv[2:]
sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
runpy.run_path(sys.argv[0], run_name="__main__")
stats = torch.cuda.memory_stats()
with open(out, "w") as file:
    json.dump({f"peak_{k}": stats[f"{k}_bytes.all.peak"] for k in ("requested", "allocated", "reserved")}, file)
"""

HERE = pathlib.Path(__file__).resolve().parent
# Longer than any of the jobs takes beside seven others.
PATIENCE_S = 240
JOBS = [
    "compiled_job.py compile --model gpt2 --dtype fp32 --batch 8 --length 512",
    "compiled_job.py compile --model gpt2 --dtype amp --batch 8 --length 512",
    "compiled_job.py compile --model gpt2 --dtype bf16 --batch 16 --length 512 --infer",
    "compiled_job.py compile --model bert --dtype bf16 --batch 16 --length 384",
    "compiled_job.py compile --model bert --dtype fp32 --batch 16 --length 384 --mode reduce-overhead --infer",
    "compiled_job.py compile --model llama --dtype bf16 --batch 8 --length 512",
    "compiled_job.py compile --model llama --dtype amp --batch 4 --length 512 --mode reduce-overhead",
    "compiled_job.py compile --model llama --dtype bf16 --batch 4 --length 512 --mode max-autotune-no-cudagraphs",
    "compiled_job.py compile --model llama --dtype bf16 --batch 8 --length 512 --vary-length",
    "compiled_job.py compile --model vit_b_16 --dtype amp --batch 32 --length 224",
    "compiled_job.py compile --model resnet50 --dtype fp32 --batch 32 --length 224",
    "compiled_job.py compile --model mlp --dtype fp32 --batch 8192 --mode reduce-overhead",
    "compiled_job.py compile --model mlp-break --dtype bf16 --batch 8192",
    "compiled_job.py compile --model mlp-kernel --dtype fp32 --batch 8192",
    "compiled_job.py compile --model unet --dtype bf16 --batch 8 --length 128",
    "compiled_job.py compile --model opt --dtype amp --batch 8 --length 512 --checkpointing",
    "compiled_job.py compile --model gpt2 --dtype amp --batch 8 --length 512 --mode reduce-overhead",
    "compiled_job.py compile --model qwen --dtype bf16 --batch 8 --length 512",
    "compiled_job.py compile --model convnext_tiny --dtype amp --batch 32 --length 224",
    "compiled_job.py compile --model bert --dtype amp --batch 16 --length 384",
    "compiled_job.py compile --model swin_t --dtype bf16 --batch 32 --length 224 --infer",
    "compiled_job.py generate --model gpt2 --dtype fp32 --batch 8 --length 256 --new 64",
    "compiled_job.py generate --model gpt2 --dtype bf16 --batch 16 --length 128 --new 128 --cache none",
    "compiled_job.py generate --model gpt2 --dtype bf16 --batch 16 --length 256 --new 128 --cache hand",
    "compiled_job.py generate --model llama --dtype bf16 --batch 16 --length 512 --new 64",
    "compiled_job.py generate --model llama --dtype bf16 --batch 16 --length 512 --new 64 --cache static",
    "compiled_job.py generate --model llama --dtype fp32 --batch 8 --length 256 --new 64 --cache hand",
    "compiled_job.py generate --model qwen --dtype bf16 --batch 32 --length 256 --new 64",
    "compiled_job.py generate --model qwen --dtype bf16 --batch 8 --length 512 --new 64 --cache static",
    "compiled_job.py generate --model opt --dtype fp32 --batch 8 --length 256 --new 64",
    "compiled_job.py generate --model opt --dtype bf16 --batch 16 --length 512 --new 64 --cache hand",
    "compiled_job.py generate --model gpt2 --dtype bf16 --batch 8 --length 256 --new 128 --cache static",
    "adapter_job.py lora",
    "adapter_job.py lora --amp --checkpointing",
    "adapter_job.py dora --batch 4",
    "adapter_job.py ia3",
    "adapter_job.py prompt",
    "adapter_job.py qlora",
    "adapter_job.py qlora --checkpointing --batch 16",
    "adapter_job.py int8",
    "adapter_job.py adam8bit",
    "adapter_job.py paged",
    "adapter_job.py ao-adam8bit",
    "adapter_job.py ao-float8",
    "adapter_job.py ao-int8",
    *sorted(f"plan_jobs/{path.name}" for path in (HERE / "plan_jobs").glob("*.py")),
]


def measured(job: str, folder: pathlib.Path | None) -> dict[str, Any]:
    """The job's peaks on the GPU that is there, or why it has none."""
    began = time.monotonic()
    script, *words = job.split()
    with tempfile.TemporaryDirectory() as temporary:
        out = pathlib.Path(temporary, "out")
        command = [sys.executable, "-c", PEAKS_ONLY if folder is None else RUNNER, str(out), str(HERE / script), *words]
        try:
            done = subprocess.run(command, cwd=temporary, capture_output=True, text=True, timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            return {"args": job, "error": f"not done after {PATIENCE_S} seconds"}
        row: dict[str, Any] = {"args": job, "seconds": round(time.monotonic() - began, 1)}
        if done.returncode != 0:
            return row | {"error": done.stderr[-2000:]}
        if folder is None:
            return row | json.loads(out.read_text())
        with lzma.open(folder / f"{re.sub('[^a-z0-9]+', '-', job.lower())}.pickle.xz", "wb", preset=3) as file:
            file.write(out.read_bytes())
        return row | pickle.loads(out.read_bytes())["peaks"]


def planned(oomph: str, job: str, card: str) -> dict[str, Any]:
    """What a plan says of the job."""
    began = time.monotonic()
    script, *words = job.split()
    with tempfile.TemporaryDirectory() as folder:
        command = [oomph, "plan", "--python", sys.executable, "--gpu", card, "--no-options", "--json", str(HERE / script), *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    row: dict[str, Any] = {"args": job, "seconds": round(time.monotonic() - began, 1)}
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return row | {"error": (done.stderr or done.stdout)[-2000:]}
    found = {peak: answer[peak] for peak in PEAKS if answer.get(peak) is not None}
    between = {bound: answer.get(f"peak_reserved_{bound}") for bound in ("least", "most")}
    return row | found | between | {"caveats": answer.get("caveats"), "error": answer.get("why_not") or ""}


def compare(options: argparse.Namespace) -> None:
    errors: dict[str, list[float]] = {peak: [] for peak in PEAKS}
    covered = 0
    # Plans run in folders of their own.
    oomph = str(pathlib.Path(shutil.which(options.oomph) or options.oomph).absolute())
    rows = [json.loads(line) for line in options.results.read_text().splitlines()]
    rows = [row for row in rows if re.search(options.only, row["args"]) and PEAKS[0] in row]
    print("| job | requested | allocated | reserved | between | seconds |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    with ThreadPoolExecutor(options.at_once) as pool:
        answers = pool.map(lambda row: planned(oomph, row["args"], options.card), rows)
        for real, ours in zip(rows, answers):
            if PEAKS[0] not in ours:
                print(f"| {real['args']} | {ours['error'].strip().splitlines()[-1:]} | | | | {ours['seconds']} |", flush=True)
                continue
            off = [100 * (ours[peak] / real[peak] - 1) for peak in PEAKS]
            for peak, one in zip(PEAKS, off):
                errors[peak].append(one)
            bounds = [ours["least"] or ours[PEAKS[2]], ours["most"] or ours[PEAKS[2]]]
            covered += bounds[0] <= real[PEAKS[2]] <= bounds[1]
            between = " to ".join(f"{100 * (bound / real[PEAKS[2]] - 1):+.2f}%" for bound in bounds)
            shown = " | ".join(f"{one:+.3f}%" for one in off)
            print(f"| {real['args']} | {shown} | {between} | {ours['seconds']} |", flush=True)
            if options.caveats:
                print("\n".join(f"  {caveat}" for caveat in ours["caveats"] or []))
    say_errors(errors)
    print(f"{covered} of {len(errors[PEAKS[2]])} hold what the plan says may be held")


def measure(options: argparse.Namespace) -> None:
    jobs = [job for job in JOBS if re.search(options.only, job)]
    if options.record is not None:
        options.record.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(options.at_once) as pool, open(options.out, "a") as out:
        for done in as_completed([pool.submit(measured, job, options.record) for job in jobs]):
            row = done.result()
            print(json.dumps(row), file=out, flush=True)
            print(json.dumps({**row, "error": row.get("error", "")[-200:]}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    taken = verbs.add_parser("measure")
    taken.add_argument("--out", required=True)
    taken.add_argument("--record", type=pathlib.Path, help="where each job's recording goes")
    asked = verbs.add_parser("compare")
    asked.add_argument("results", type=pathlib.Path)
    asked.add_argument("--oomph", default="oomph")
    asked.add_argument("--card", default="H200")
    asked.add_argument("--caveats", action="store_true", help="also what the plans remark")
    for verb, at_once in (taken, 5), (asked, 1):
        verb.add_argument("--only", default="")
        verb.add_argument("--at-once", type=int, default=at_once)
    options = parser.parse_args()
    measure(options) if options.verb == "measure" else compare(options)


if __name__ == "__main__":
    main()
