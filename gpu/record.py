"""Checks `oomph run` on a real GPU: what it records, what it says of jobs that run out of memory, what it leaves alone.

    python3 gpu/record.py --oomph target/release/oomph --jobs WORKLOADS.py [--keep DIR]

WORKLOADS.py is a file of training loops that takes `CASE --iters N` (see gpu/overhead.py). Prints a line for each
check, and exits 1 if one failed.
"""

import argparse
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile

GIB = 1 << 30

# Job, options of oomph, iterations, cause, and the text of the line that must be named.
FAILING = [
    ("leak", "4GiB", 60, "leak", "total = total + loss"),
    ("eval_grad", "14GiB", 60, "leak", "outs.append(m(torch.randn"),
    ("frag_split", "6GiB", 60, "fragmentation", "out.append(torch.empty(180 << 20"),
]
COMPLETING = [("gpt2_static", 12), ("resnet50", 12), ("moe", 6), ("gpt2_ckpt", 6)]

MODELS = {
    "gpt2": """
from transformers import GPT2Config, GPT2LMHeadModel
model = GPT2LMHeadModel(GPT2Config()).cuda(); optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
def loss():
    x = torch.randint(0, 32000, (8, 512), device="cuda")
    with torch.autocast("cuda", torch.bfloat16): return model(input_ids=x, labels=x).loss
""",
    "resnet50": """
import torchvision
model = torchvision.models.resnet50().cuda(); optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
def loss():
    x = torch.randn(64, 3, 224, 224, device="cuda"); y = torch.randint(0, 1000, (64,), device="cuda")
    with torch.autocast("cuda", torch.bfloat16): return torch.nn.functional.cross_entropy(model(x), y)
""",
}

# One training step; at its end all that the model and the optimizer own is there.
STEP = """
for _ in range(3):
    optimizer.zero_grad(); loss().backward(); optimizer.step()
import json
seen = set()
def size(tensors):
    total = 0
    for t in tensors:
        s = t.untyped_storage()
        if t.is_cuda and s.data_ptr() not in seen: seen.add(s.data_ptr()); total += s.nbytes()
    return total
state = [v for s in optimizer.state.values() for v in s.values() if torch.is_tensor(v)]
print(json.dumps({"weights": size(model.parameters()), "gradients": size(p.grad for p in model.parameters()),
    "optimizer": size(state), "buffers": size(model.buffers()), "active": torch.cuda.memory_stats()["active_bytes.all.current"],
    "requested": torch.cuda.memory_stats()["requested_bytes.all.current"]}))
"""

failures = 0


def check(name: str, good: bool, detail: object) -> None:
    global failures
    failures += not good
    print(f"{'ok  ' if good else 'FAIL'} {name:34} {detail}", flush=True)


class Desk:
    def __init__(self, oomph: str, jobs: str) -> None:
        self.oomph = str(pathlib.Path(oomph).resolve())
        self.jobs = jobs

    def run(self, words: list[str], options: list[str] = [], **environment: str) -> tuple[subprocess.CompletedProcess[str], pathlib.Path]:
        folder = pathlib.Path(tempfile.mkdtemp())
        shutil.copy(self.jobs, folder / "train.py")
        done = subprocess.run(
            [self.oomph, "run", "--python", sys.executable, *options, *words],
            cwd=folder, text=True, capture_output=True, env={**os.environ, "NO_COLOR": "1", **environment},
        )  # fmt: skip
        return done, folder

    def json(self, verb: str, path: pathlib.Path) -> dict[str, object]:
        done = subprocess.run([self.oomph, verb, str(path), "--json"], text=True, capture_output=True)
        return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr}

    def is_exact(self, path: pathlib.Path) -> tuple[bool, object]:
        replay = self.json("replay", path)
        fidelity = replay.get("fidelity", {})
        return fidelity.get("exact") is True, replay.get("error") or fidelity.get("first_divergence") or ""


def last(folder: pathlib.Path, name: str = "main.pickle") -> pathlib.Path:
    return (folder / ".oomph" / "last").resolve() / name


def completing(desk: Desk) -> None:
    for job, iterations in COMPLETING:
        done, folder = desk.run(["train.py", job, "--iters", str(iterations)])
        result = json.loads(done.stdout.strip().splitlines()[-1]) if done.stdout.strip() else {}
        check(f"{job} completes", done.returncode == 0 and result.get("ok") is True, done.stderr.strip().splitlines()[-1:])
        check(f"{job} replays exactly", *desk.is_exact(last(folder)))


def failing(desk: Desk, keep: str | None) -> None:
    source = pathlib.Path(desk.jobs).read_text().splitlines()
    for job, limit, iterations, cause, text in FAILING:
        done, folder = desk.run(["train.py", job, "--iters", str(iterations)], ["--limit", limit])
        explained = desk.json("explain", last(folder))
        lines = [number for number, line in enumerate(source, 1) if text in line]
        causes = [explained.get("cause")]
        named = any(f"train.py:{number}" in done.stderr for number in lines)
        check(f"{job} --limit {limit}: cause", causes[:1] == [cause], causes)
        check(f"{job} --limit {limit}: line", named, [f"train.py:{number}" for number in lines])
        check(f"{job} --limit {limit}: verdict printed", "Cause" in done.stderr, done.stderr.count("\n"))
        check(f"{job} --limit {limit}: exact", *desk.is_exact(last(folder)))
        if keep:
            shutil.copy(last(folder), pathlib.Path(keep) / f"{job}.pickle")
            (pathlib.Path(keep) / f"{job}.txt").write_text(done.stderr)


def classes(desk: Desk, keep: str | None) -> None:
    for name, model in MODELS.items():
        script = pathlib.Path(tempfile.mkdtemp()) / f"{name}.py"
        script.write_text(f"import torch\n{model}{STEP}")
        done, folder = desk.run([str(script)])
        owned = json.loads(done.stdout.strip().splitlines()[-1])
        with open(last(folder), "rb") as file:
            recording = pickle.load(file)
        sidecar = recording["oomph"]
        sums = dict.fromkeys(("weights", "gradients", "optimizer", "buffers", "workspaces"), 0)
        for when, _, _, size, kind in sidecar["classes"]:
            if when >= sidecar["written_us"]:
                sums[kind] += size
        for kind in ("weights", "gradients", "optimizer", "buffers"):
            check(f"{name}: {kind} to the byte", sums[kind] == owned[kind], (sums[kind], owned[kind]))
        rest = owned["requested"] - sum(sums.values())
        check(f"{name}: the rest is not negative", rest >= 0, f"{rest} bytes of {owned['requested']}")
        peak = desk.json("explain", last(folder)).get("peak", {})
        by_class = {entry["class"]: entry["bytes"] for entry in peak.get("classes") or []}
        check(f"{name}: classes add up to active", sum(by_class.values()) == peak.get("active"), by_class)
        check(f"{name}: weights at the peak", by_class.get("weights") == owned["weights"], by_class.get("weights"))
        state = by_class.get("optimizer_state")
        check(f"{name}: optimizer state at the peak", state == owned["optimizer"], state)
        if keep:
            shutil.copy(last(folder), pathlib.Path(keep) / f"{name}.pickle")


def manners(desk: Desk) -> None:
    done, _ = desk.run(["-c", "import sys; sys.exit(7)"])
    check("exit code 7", done.returncode == 7, done.returncode)
    done, _ = desk.run(["-c", "import os; os.kill(os.getpid(), 15)"])
    check("exit code of SIGTERM", done.returncode == 143, done.returncode)
    done, _ = desk.run(["no-such-program"])
    check("exit code of a missing program", done.returncode == 127, done.returncode)
    code = "import torch, sys; torch.zeros(4, device='cuda'); sys.stdout.buffer.write(bytes(range(256)))"
    alone = subprocess.run([sys.executable, "-c", code], capture_output=True)
    under = subprocess.run([desk.oomph, "run", "--python", sys.executable, "-c", code], capture_output=True, cwd=tempfile.mkdtemp())
    check("stdout byte for byte", alone.stdout == under.stdout and len(alone.stdout) == 256, len(under.stdout))


def jax(desk: Desk) -> None:
    # One request that no card can serve: smaller ones are tried again for ten seconds each.
    code = "import jax.numpy as n; n.ones((1 << 36,), dtype=n.float32).block_until_ready()"
    done, folder = desk.run(["-c", code])
    if "No module named" in done.stderr:
        print("     jax is not installed here: skipped")
        return
    check("jax: its text is explained", done.returncode == 1 and "256.00 GiB" in done.stderr, done.stderr[-900:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oomph", required=True)
    parser.add_argument("--jobs", required=True)
    parser.add_argument("--keep", help="copies recordings and verdicts here")
    args = parser.parse_args()
    desk = Desk(args.oomph, args.jobs)
    manners(desk)
    failing(desk, args.keep)
    classes(desk, args.keep)
    completing(desk)
    jax(desk)
    print(f"{failures} checks failed" if failures else "all checks passed")
    sys.exit(1 if failures else 0)


main()
