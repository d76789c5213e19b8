"""What recording costs an iteration on a real GPU, by turns in one process.

    python3 gpu/overhead.py --jobs WORKLOADS.py [--cases gpt2_static,resnet50] [--rounds N]

WORKLOADS.py has a dict CASES of name -> generator function of an argument object; each `next` is one iteration. Every
round runs one block of iterations without recording, one with PyTorch's own events alone, without stacks, and one with
oomph, in alternating order. A block has as many iterations as stacks are sampled over, so that a block with recording
has its full share of iterations with stacks. Before a block that is recorded, the ring of events is filled: a job fills it
once and then goes on, so its growth is no cost of an iteration. A ratio is that of the medians of blocks. `events` is what
no recorder of every request can be cheaper than; `again` is the ratio of the unrecorded blocks of even rounds to those of
odd ones: what two equal things differ by here. With --raw FILE the seconds of every block are kept.
"""

import argparse
import json
import pathlib
import random
import statistics
import sys
import time
import types
from collections.abc import Iterator

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "python"))

import torch

from oomph._recorder.recorder import Recorder
from oomph._recorder.stacks import EVERY, FIRST, RING

# No iteration may cost more than this beside one that is not recorded.
BOUND = 1.02
# Iterations that fill the ring, at most.
MOST_FILLING = 8
CASES = ["gpt2_static", "resnet50", "moe", "gpt2_ckpt", "small"]


def small(options: types.SimpleNamespace) -> Iterator[None]:
    """50,000 small tensors an iteration, each made and let go."""
    weight = torch.nn.Parameter(torch.ones(64, device="cuda"))
    optimizer = torch.optim.SGD([weight], 0.1)
    for _ in range(options.iters):
        x = weight.detach()
        for _ in range(50_000):
            x = x + 1
        weight.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        yield


class SameInEveryBlock(random.Random):
    """Ragged lengths that repeat from block to block: blocks then do the same work."""

    def __init__(self) -> None:
        super().__init__(0)
        self._asked = 0
        self._values = [super(SameInEveryBlock, self).random() for _ in range(EVERY)]

    def randrange(self, start: int, stop: int, step: int = 1) -> int:
        value = self._values[self._asked % EVERY]
        self._asked += 1
        return start + int(value * ((stop - start) // step)) * step


def cases(path: str) -> dict[str, object]:
    """The jobs of a file whose last line runs it as a program."""
    source = pathlib.Path(path).read_text().rsplit("main()", 1)[0]
    module: dict[str, object] = {"__name__": "jobs"}
    exec(compile(source, path, "exec"), module)
    module["random"] = SameInEveryBlock()
    return module["CASES"]


def block(job: object) -> float:
    """Seconds an iteration, over one block."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(EVERY):
        next(job)
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / EVERY


def served() -> int:
    """How many requests the allocator has served."""
    return int(torch.cuda.memory_stats()["allocation.all.allocated"])


def measure(job: object, recorder: Recorder, rounds: int) -> dict[str, list[float]]:
    """Seconds an iteration of each block: without recording, with PyTorch's own events and no stacks, with oomph."""
    found: dict[str, list[float]] = {"off": [], "events": [], "on": []}
    record = torch.cuda.memory._record_memory_history
    before = served()
    next(job)
    # A request is three events: made, let go, given back. Where an iteration has few, its share of the growth is small.
    filling = min(1 + RING // max(3 * (served() - before), 1), MOST_FILLING)
    for number in range(rounds):
        for kind in list(found)[:: 1 if number % 2 else -1]:
            if kind == "on":
                recorder.begin()
            elif kind == "events":
                record("all", context=None, stacks="python", max_entries=RING)
            # Recording begins with stacks, too: the first iteration is not one of every eight.
            for _ in range(filling):
                next(job)
            found[kind].append(block(job))
            if kind == "on":
                recorder.end()
            elif kind == "events":
                record(None)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", required=True)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--raw")
    args = parser.parse_args()
    raw: dict[str, dict[str, list[float]]] = {}
    jobs = {**cases(args.jobs), "small": small}
    torch.zeros(1, device="cuda")
    recorder = Recorder()
    recorder.watch_torch(torch)
    recorder.end()
    print(f"{'job':12} {'off ms':>8} {'on ms':>8} {'ratio':>7} {'events':>7} {'bound':>6} {'again':>6}")
    for name in args.cases.split(","):
        torch.manual_seed(0)
        options = types.SimpleNamespace(iters=100_000, scale=1.0, seed=0)
        job = jobs[name](options)
        for _ in range(FIRST + 4):
            next(job)
        found = measure(job, recorder, args.rounds)
        off, events, on = (statistics.median(found[kind]) for kind in ("off", "events", "on"))
        again = statistics.median(found["off"][::2]) / statistics.median(found["off"][1::2])
        print(f"{name:12} {1e3 * off:8.2f} {1e3 * on:8.2f} {on / off:7.3f} {events / off:7.3f} {BOUND:6.2f} {again:6.3f}", flush=True)
        raw[name] = found
        if args.raw:
            pathlib.Path(args.raw).write_text(json.dumps(raw))
        del job
        torch.cuda.empty_cache()


main()
