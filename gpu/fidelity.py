"""Records many jobs on a real GPU and checks that `oomph replay` reproduces each: every address, every driver call, the
final segments, and the peaks that PyTorch measured itself.

    python3 gpu/fidelity.py --oomph target/release/oomph --work DIR [--jobs WORKLOADS.py] [--keep DIR]

prints a table; exits 1 if a recording is not reproduced. `--jobs` adds real training loops (see its own help).
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

SETTINGS = [
    "",
    "expandable_segments:True",
    "max_split_size_mb:64",
    "max_split_size_mb:32,max_non_split_rounding_mb:64",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:[1:2,4:8,64:4,>:2]",
    "garbage_collection_threshold:0.6",
    "large_segment_size_mb:48",
    "expandable_segments:True,large_segment_size_mb:32",
    "expandable_segments:True,garbage_collection_threshold:0.7",
    "max_split_size_mb:64,garbage_collection_threshold:0.8",
]

FUZZ = [
    [],
    ["--limit", "3.2"],
    ["--streams", "3"],
    ["--streams", "3", "--limit", "3.4", "--no-stacks"],
    ["--graphs"],
    ["--graphs", "--streams", "2", "--limit", "4"],
    ["--pools"],
    ["--window", "3000"],
    ["--window", "3000", "--streams", "3", "--limit", "3.6"],
]


def cases(args: argparse.Namespace) -> list[tuple[str, str, list[str]]]:
    """(name, settings, command without the output's name)"""
    here = pathlib.Path(__file__).parent
    found = []
    for number, settings in enumerate(SETTINGS):
        for kind, options in enumerate(FUZZ):
            name = f"fuzz-{number:02}-{kind}"
            seed = str(100 * number + kind)
            found.append((name, settings, [sys.executable, str(here / "fuzz.py"), "{out}", "--seed", seed, *options]))
    if args.jobs:
        for name, settings, options in json.loads(pathlib.Path(args.jobs_list).read_text()):
            found.append((name, settings, [sys.executable, args.jobs, *options, "--snapshot", "{out}"]))
    return found


def run(case: tuple[str, str, list[str]], args: argparse.Namespace) -> dict[str, object]:
    name, settings, command = case
    out = pathlib.Path(args.work) / f"{name}.pickle.gz"
    environment = {**os.environ, "PYTORCH_CUDA_ALLOC_CONF": settings}
    result: dict[str, object] = {"name": name, "settings": settings}
    try:
        job = subprocess.run(
            [word.replace("{out}", str(out)) for word in command],
            env=environment, capture_output=True, text=True, timeout=args.timeout, check=False,
        )
    except subprocess.TimeoutExpired:
        return {**result, "verdict": "job timed out"}
    if job.returncode or not out.exists():
        return {**result, "verdict": "job failed", "detail": job.stderr.strip().splitlines()[-1:]}
    measured = json.loads(job.stdout.strip().splitlines()[-1])
    peaks = {
        "peak_requested": measured.get("peak_requested", measured.get("peak_req")),
        "peak_allocated": measured.get("peak_allocated", measured.get("peak_alloc")),
        "peak_active": measured["peak_active"],
        "peak_reserved": measured["peak_reserved"],
    }
    verdict, detail, document = replay(args.oomph, out, [])
    if verdict != "exact" and measured.get("limit"):
        limit = measured["limit"]
        limit = str(int(limit)) if limit > 1e6 else f"{limit}GiB"
        verdict, detail, document = replay(args.oomph, out, ["--limit", limit])
        verdict += " (limit given)"
    result |= {"verdict": verdict, "detail": detail}
    if document:
        wrong = {key: (document["recorded"][key], value) for key, value in peaks.items() if document["recorded"][key] != value}
        windowed = document["trace"]["origin"] == "windowed"
        result["origin"] = document["trace"]["origin"]
        result["events"] = document["trace"]["events"]
        if wrong and not windowed:
            result["verdict"] = f"{verdict}, peaks differ"
            result["detail"] = [detail, wrong]
        if not windowed and document["replayed"]["retries"] != measured.get("retries", measured.get("num_alloc_retries")):
            result["verdict"] = f"{result['verdict']}, retries differ"
    if args.keep and "exact" != result["verdict"] and result["verdict"] != "exact (limit given)":
        shutil.copy(out, args.keep)
    if not args.leave:
        out.unlink()
    return result


def replay(oomph: str, snapshot: pathlib.Path, options: list[str]) -> tuple[str, object, dict | None]:
    done = subprocess.run([oomph, "replay", str(snapshot), "--json", *options], capture_output=True, text=True, check=False)
    if done.returncode:
        return "oomph failed", done.stderr.strip(), None
    document = json.loads(done.stdout)
    fidelity = document.get("fidelity")
    if fidelity is None:
        return "limit contradicts the recording", None, document
    return ("exact" if fidelity["exact"] else "NOT EXACT"), fidelity["first_divergence"], document


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--oomph", default="target/release/oomph")
    parser.add_argument("--work", required=True)
    parser.add_argument("--keep")
    parser.add_argument("--jobs")
    parser.add_argument("--jobs-list", default="gpu/jobs.json")
    parser.add_argument("--parallel", type=int, default=10)
    parser.add_argument("--timeout", type=int, default=200)
    parser.add_argument("--only", default="")
    parser.add_argument("--leave", action="store_true", help="keep every recording in --work")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    if args.keep:
        os.makedirs(args.keep, exist_ok=True)
    chosen = [case for case in cases(args) if args.only in case[0]]
    with concurrent.futures.ThreadPoolExecutor(args.parallel) as workers:
        results = list(workers.map(lambda case: run(case, args), chosen))
    exact = sum(str(result["verdict"]) in ("exact", "exact (limit given)") for result in results)
    for result in results:
        if result["verdict"] != "exact":
            print(json.dumps(result))
    print(f"{exact} of {len(results)} exact")
    raise SystemExit(exact != len(results))


if __name__ == "__main__":
    main()
