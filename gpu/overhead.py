"""What recording costs an iteration on a real GPU, by turns in one process.

    python3 gpu/overhead.py --jobs WORKLOADS.py [--cases gpt2_static,resnet50] [--rounds N]

WORKLOADS.py has a dict CASES of name -> generator function of an argument object; each `next` is one iteration. Every
round runs one block of iterations without recording and one with it, in alternating order. A block has as many
iterations as stacks are sampled over, so that a block with recording has its full share of iterations with stacks.
The ratio is that of the medians of blocks; `again` is the ratio of the unrecorded blocks of even rounds to those of
odd ones: what two equal things differ by here.
"""

import argparse
import pathlib
import random
import statistics
import sys
import time
import types

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "python"))

import torch

from oomph._recorder.recorder import Recorder
from oomph._recorder.stacks import EVERY, FIRST

BOUNDS = {"gpt2_static": 1.08, "resnet50": 1.03, "moe": 1.03, "gpt2_ckpt": 1.03}


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


def measure(job: object, recorder: Recorder, rounds: int) -> tuple[list[float], list[float]]:
    without, recorded = [], []
    for number in range(rounds):
        for kind in ("off", "on") if number % 2 else ("on", "off"):
            if kind == "on":
                recorder.begin()
                recorded.append(block(job))
                recorder.end()
            else:
                without.append(block(job))
    return without, recorded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", required=True)
    parser.add_argument("--cases", default=",".join(BOUNDS))
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    jobs = cases(args.jobs)
    torch.zeros(1, device="cuda")
    recorder = Recorder()
    recorder.watch_torch(torch)
    recorder.end()
    print(f"{'job':12} {'off ms':>8} {'on ms':>8} {'ratio':>7} {'bound':>6} {'again':>6}")
    for name in args.cases.split(","):
        torch.manual_seed(0)
        rounds = args.rounds if name in ("gpt2_static", "resnet50") else max(args.rounds // 2, 3)
        options = types.SimpleNamespace(iters=FIRST + 4 + 2 * EVERY * rounds, scale=1.0, seed=0)
        job = jobs[name](options)
        for _ in range(FIRST + 4):
            next(job)
        without, recorded = measure(job, recorder, rounds)
        ratio = statistics.median(recorded) / statistics.median(without)
        again = statistics.median(without[::2]) / statistics.median(without[1::2])
        print(
            f"{name:12} {1e3 * statistics.median(without):8.2f} {1e3 * statistics.median(recorded):8.2f} "
            f"{ratio:7.3f} {BOUNDS.get(name, 0):6.2f} {again:6.3f}",
            flush=True,
        )
        del job
        torch.cuda.empty_cache()


main()
