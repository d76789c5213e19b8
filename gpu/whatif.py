"""Checks what-ifs against the real thing: records a job under default settings, lets oomph predict what it would hold
under others and the smallest limit it runs under, then runs the job so and looks.

    python3 gpu/whatif.py --oomph target/release/oomph --jobs WORKLOADS.py --work DIR

prints two tables: predicted and real peaks; and, for the smallest limit oomph proved by replay, whether the real job
completes with 0.5% more and fails with 3% less.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

JOBS = {
    "gpt2_dyn": ["--iters", "8", "--seed", "11"],
    "resnet50": ["--iters", "6", "--seed", "11"],
    "detect_dyn": ["--iters", "8", "--seed", "11"],
    "mt5": ["--iters", "5", "--seed", "11"],
    "moe": ["--iters", "4", "--seed", "11"],
    "kv_infer": ["--iters", "12", "--seed", "11"],
    "bert_dyn": ["--iters", "8", "--seed", "11"],
    "train_eval": ["--iters", "6", "--seed", "11"],
    "gpt2_ckpt": ["--iters", "5", "--seed", "11", "--context", "none"],
    "llama_lora": ["--iters", "4", "--seed", "11", "--context", "none"],
}
SETTINGS = [
    "expandable_segments:True",
    "max_split_size_mb:128",
    "roundup_power2_divisions:8",
    "large_segment_size_mb:64",
]


def job(args: argparse.Namespace, name: str, settings: str, *options: str) -> dict:
    environment = {**os.environ, "PYTORCH_CUDA_ALLOC_CONF": settings}
    done = subprocess.run(
        [sys.executable, args.jobs, name, *JOBS[name], *options], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1:]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def oomph(args: argparse.Namespace, *words: str) -> dict:
    done = subprocess.run([args.oomph, *words, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--oomph", default="target/release/oomph")
    parser.add_argument("--jobs", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--parallel", type=int, default=10)
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)

    def recorded(name: str) -> tuple[str, dict]:
        path = str(pathlib.Path(args.work) / f"{name}.pickle.gz")
        return path, job(args, name, "", "--snapshot", path)

    with concurrent.futures.ThreadPoolExecutor(args.parallel) as workers:
        recordings = dict(zip(JOBS, workers.map(recorded, JOBS)))
        exact = {name: oomph(args, "replay", path)["fidelity"]["exact"] for name, (path, _) in recordings.items()}

        peaks = [(name, settings) for name in JOBS for settings in SETTINGS]
        real = workers.map(lambda case: job(args, *case), peaks)
        print("| job | exact | settings | recorded | predicted | real | off |\n|---|---|---|---|---|---|---|")
        for (name, settings), result in zip(peaks, real):
            predicted = oomph(args, "replay", recordings[name][0], "--set", settings)["replayed"]["peak_reserved"]
            held = result.get("peak_reserved")
            off = f"{100 * (predicted / held - 1):+.2f}%" if held else str(result)
            before = recordings[name][1].get("peak_reserved")
            print(f"| {name} | {exact[name]} | {settings} | {before} | {predicted} | {held} | {off} |", flush=True)

        limits = []
        for name in JOBS:
            candidates = oomph(args, "tune", recordings[name][0])["candidates"]
            for settings in ["", "expandable_segments:True"]:
                found = next(candidate for candidate in candidates if candidate["settings"] == settings)
                limits.append((name, settings, found["smallest_limit"]))

        def at_limit(case: tuple[str, str, int]) -> tuple[object, object]:
            name, settings, limit = case
            return tuple(
                job(args, name, settings, "--limit", str(limit * factor / 2**30)).get("ok") for factor in (1.005, 0.97)
            )

        print("\n| job | settings | smallest limit by replay | completes at +0.5% | completes at -3% |\n|---|---|---|---|---|")
        for (name, settings, limit), (above, below) in zip(limits, workers.map(at_limit, limits)):
            print(f"| {name} | {settings or 'defaults'} | {limit} | {above} | {below} |", flush=True)


if __name__ == "__main__":
    main()
