"""Compares `oomph status` with nvidia-smi and with PyTorch's own figures on a real GPU.

    python3 gpu/status.py --oomph target/release/oomph

prints the screen and a line per check; exits 1 if one fails. Where there is no GPU or no PyTorch, it says why it is skipped.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from typing import Any

MIB = 1 << 20
SETTINGS = "expandable_segments:True"

# Holds 1 GiB, frees half of it into the cache, and writes its figures down as a recorded process does.
JOB = """
import json, os, pathlib, sys, torch
kept, cached = (torch.zeros(512 << 20, dtype=torch.uint8, device="cuda") for _ in range(2))
del cached
torch.cuda.synchronize()
stats = torch.cuda.memory_stats()
figures = {
    "allocated": stats["allocated_bytes.all.current"], "reserved": stats["reserved_bytes.all.current"],
    "peak_allocated": stats["allocated_bytes.all.peak"], "peak_reserved": stats["reserved_bytes.all.peak"],
    "retries": stats["num_alloc_retries"], "ooms": stats["num_ooms"],
}
uuid = getattr(torch.cuda.get_device_properties(0), "uuid", None)
device = {"index": 0, "uuid": None if uuid is None else str(uuid), **figures}
record = {"format": 1, "pid": os.getpid(), "name": "main", "rank": None, "versions": {"torch": torch.__version__},
          "devices": [device]}
pathlib.Path(os.environ["OOMPH_RUN"], "main.json").write_text(json.dumps(record))
print(json.dumps({"pid": os.getpid(), **figures}), flush=True)
sys.stdin.read()
"""


def skip(why: str) -> None:
    print(f"skipped: {why}")
    sys.exit(0)


def smi(query: str) -> list[list[str]]:
    """The rows of a query of nvidia-smi."""
    command = ["nvidia-smi", query, "--format=csv,noheader,nounits"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]


def near(found: int | None, mib: str) -> bool:
    """Whether an amount in bytes is what nvidia-smi says in MiB, whichever way it rounds."""
    if not mib.isdigit():
        return True
    return found is not None and abs(found - int(mib) * MIB) <= MIB


def as_smi_says(status: dict[str, Any], gpus: list[list[str]], apps: list[list[str]]) -> list[str]:
    """What differs between a status and one reading of nvidia-smi."""
    wrong = []
    if len(gpus) != len(status["gpus"]):
        wrong.append(f"nvidia-smi lists {len(gpus)} GPUs, oomph {len(status['gpus'])}")
    for row, gpu in zip(gpus, status["gpus"]):
        index, name, uuid, driver, total, used, free, reserved = row
        if [index, name, uuid, driver] != [str(gpu["index"]), gpu["name"], gpu["uuid"], status["driver"]]:
            wrong.append(f"{row} is not {gpu['index']}, {gpu['name']}, {gpu['uuid']}, {status['driver']}")
        for key, mib in [("total", total), ("used", used), ("free", free), ("reserved", reserved)]:
            if not near(gpu[key], mib):
                wrong.append(f"GPU {index}: {key} is {gpu[key]}, nvidia-smi says {mib} MiB")
        parts = [gpu[key] for key in ("used", "free", "reserved")]
        if None not in parts and sum(parts) != gpu["total"]:
            wrong.append(f"GPU {index}: {parts} do not add up to {gpu['total']}")
    listed = {(uuid, pid): mib for uuid, pid, mib in apps}
    found = {
        (gpu["uuid"], str(process["pid"])): process["used"]
        for gpu in status["gpus"]
        for process in gpu["processes"] or []
        if not process["graphics"]
    }
    if set(listed) != set(found):
        wrong.append(f"nvidia-smi lists the processes {sorted(listed)}, oomph {sorted(found)}")
    for app in set(listed) & set(found):
        if not near(found[app], listed[app]):
            wrong.append(f"process {app}: {found[app]} bytes, nvidia-smi says {listed[app]} MiB")
    return wrong


def reading() -> tuple[list[list[str]], list[list[str]]]:
    gpus = smi("--query-gpu=index,name,uuid,driver_version,memory.total,memory.used,memory.free,memory.reserved")
    return gpus, smi("--query-compute-apps=gpu_uuid,pid,used_memory")


def about_job(status: dict[str, Any], job: dict[str, Any], listed: bool) -> list[str]:
    """What is wrong with what a status says of the job."""
    wrong = []
    keys = ["allocated", "reserved", "peak_allocated", "peak_reserved", "retries", "ooms"]
    figures = {key: job[key] for key in keys}
    record = [one for one in status["recorded"] if one["pid"] == job["pid"]]
    if len(record) != 1 or {key: record[0]["devices"][0][key] for key in keys} != figures:
        wrong.append(f"it is recorded as {record}, PyTorch says {figures}")
    elif record[0]["devices"][0]["gpu"] is None:
        wrong.append("its device has no number of the driver's")
    rows = [one for gpu in status["gpus"] for one in gpu["processes"] or [] if one["pid"] == job["pid"]]
    if not listed:
        print(f"        the driver does not list pid {job['pid']}: it counts in another namespace")
        return wrong + ([f"{rows} has its pid by chance"] if any(row["visible"] for row in rows) else [])
    if len(rows) != 1 or not rows[0]["visible"] or rows[0]["torch"] != figures:
        return [*wrong, f"its row is {rows}, PyTorch says {figures}"]
    row = rows[0]
    if row["used"] is None or row["outside_torch"] != row["used"] - job["reserved"] or row["outside_torch"] <= 0:
        wrong.append(f"{row['used']} - {job['reserved']} is not {row['outside_torch']}, or no context")
    if not row["own"] or row["settings"]["PYTORCH_CUDA_ALLOC_CONF"] != SETTINGS:
        wrong.append(f"it is not mine, or its settings are not: {row['settings']}")
    return wrong


def about_metrics(oomph: str, job: dict[str, Any], status: dict[str, Any], listed: bool) -> list[str]:
    """What is wrong with the page for Prometheus."""
    server = subprocess.Popen([oomph, "status", "--serve", "0"], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        address = server.stderr.readline().split()[2].rstrip(";")
        page = urllib.request.urlopen(address, timeout=30).read().decode()
    finally:
        server.terminate()
        server.wait()
    mine = [line for line in page.splitlines() if f'pid="{job["pid"]}"' in line]
    held = [line for line in mine if line.startswith("oomph_pytorch_reserved_bytes{")]
    wrong = [] if [int(line.split()[-1]) for line in held] == [job["reserved"]] else [f"reserved: {held}"]
    if listed:
        used = next(one["used"] for gpu in status["gpus"] for one in gpu["processes"] if one["pid"] == job["pid"])
        parts = [int(line.split()[-1]) for line in mine if line.startswith("oomph_gpu_process_memory_bytes{")]
        if len(parts) != 3 or sum(parts) != used:
            wrong.append(f"the classes {parts} do not add up to {used}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oomph", default="target/release/oomph", help="the command to check")
    oomph = parser.parse_args().oomph
    if shutil.which("nvidia-smi") is None:
        skip("there is no nvidia-smi here")
    try:
        import torch
    except ImportError:
        skip("there is no PyTorch here")
    if not torch.cuda.is_available():
        skip("PyTorch finds no GPU")
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder, ".oomph", "20261115-120000-job-1")
        run.mkdir(parents=True)
        environment = {**os.environ, "OOMPH_RUN": str(run), "PYTORCH_CUDA_ALLOC_CONF": SETTINGS}
        environment.pop("PYTORCH_ALLOC_CONF", None)
        job = subprocess.Popen(
            [sys.executable, "-c", JOB], env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert job.stdout is not None
        try:
            figures = json.loads(job.stdout.readline())
            for _ in range(5):
                # Others come and go: the reading before or the one after must agree, in five attempts.
                before = reading()
                text = subprocess.run([oomph, "status", "--json"], check=True, capture_output=True, text=True).stdout
                status = json.loads(text)
                differs = min((as_smi_says(status, *one) for one in (before, reading())), key=len)
                if not differs:
                    break
            screen = subprocess.run([oomph, "status"], check=True, capture_output=True, text=True).stdout
            print(screen)
            listed = str(figures["pid"]) in [row[1] for row in before[1]]
            wide = [line for line in screen.splitlines() if len(line) > 80 and "_ALLOC_CONF=" not in line]
            for name, wrong in [
                ("the figures are nvidia-smi's", differs),
                ("the job's are PyTorch's", about_job(status, figures, listed)),
                ("Prometheus gets the same", about_metrics(oomph, figures, status, listed)),
                ("the screen has 80 columns", wide),
            ]:
                print(f"{'FAILED' if wrong else 'ok':>6}  {name}")
                for line in wrong:
                    print(f"        {line}")
                failures += bool(wrong)
        finally:
            job.kill()
            job.wait()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
