"""One rank of the test of several: trains small models with DistributedDataParallel while memory runs out on some ranks.

    python fit_ranks.py STORE RANK RANKS SEED FIRST LAST

Prints a line for each run that was well: all ranks have the same parameters, bit for bit, and they are those of a training
without oomph and without failures, up to the order of sums."""

from __future__ import annotations

import random
import sys
from typing import Any

import torch
import torch.distributed as dist
from fit_jobs import Failures
from torch import nn

import oomph

STEPS = 3


class Net(nn.Module):  # type: ignore[misc]
    """With a branch that only some batches use, and with buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 12)
        self.norm = nn.BatchNorm1d(12)
        self.often = nn.Linear(12, 3)
        self.seldom = nn.Linear(12, 3)

    def forward(self, x: Any, seldom: bool) -> Any:
        hidden = torch.relu(self.norm(self.first(x)))
        return self.seldom(hidden) if seldom else self.often(hidden)


def batches(seed: str, rank: int) -> list[tuple[Any, Any, bool]]:
    generator = torch.Generator().manual_seed(hash_of(f"{seed} {rank}"))
    draw = random.Random(f"{seed} {rank}")
    found = []
    for _ in range(STEPS):
        size = draw.randint(60, 80)
        x = torch.randn(size, 4, generator=generator)
        found.append((x, torch.randint(0, 3, (size,), generator=generator), draw.random() < 0.3))
    return found


def hash_of(text: str) -> int:
    return random.Random(text).randrange(1 << 31)


def train(seed: str, rank: int, fail: bool, parallel: bool) -> Any:
    """The parameters after some steps; without `parallel` as DDP alone makes them."""
    torch.manual_seed(hash_of(seed))
    model = Net()
    # Its statistics of batches would differ with the split.
    model.norm.eval()
    ddp = nn.parallel.DistributedDataParallel(model, find_unused_parameters=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    fit = oomph.fit(model=ddp, optimizer=optimizer, split=[0, 1])
    draw = random.Random(f"{seed} {rank} failures")

    def step(x: Any, y: Any, seldom: bool) -> Any:
        return nn.functional.cross_entropy(ddp(x, seldom), y)

    for number, batch in enumerate(batches(seed, rank)):
        optimizer.zero_grad()
        failing = [draw.randint(1, 120) for _ in range(draw.choice((0, 0, 0, 1, 1, 2)))] if fail else []
        with Failures(*failing):
            if parallel:
                fit(step, *batch)
            else:
                step(*batch).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        if number == 0 and rank == 0:
            # Rank 0's buffers are everybody's.
            model.norm.running_mean += 0.01
    return torch.cat([each.detach().flatten() for each in [*model.parameters(), model.norm.running_mean]])


def main(store: str, rank: int, ranks: int, seed: str, first: int, last: int) -> None:
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    for run in range(first, last):
        name = f"{seed} {run}"
        found = train(name, rank, fail=True, parallel=True)
        everywhere = [torch.empty_like(found) for _ in range(ranks)]
        dist.all_gather(everywhere, found)
        same = all(torch.equal(found, other) for other in everywhere)
        expected = train(name, rank, fail=False, parallel=False)
        error = float((found - expected).abs().max())
        good = same and error < 1e-5
        print(f"run {run}: {'good' if good else f'BAD same={same} error={error:g}'}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5]), int(sys.argv[6]))
