"""What a checkpoint costs the loop: the same training without and with `oomph.checkpoint`, by turns, on the CPU.

    python benches/checkpoint.py [ROUNDS]

Each round is 40 steps without, and 40 steps with a checkpoint after every 20th. Beside the ratio of their medians stands
how long `save()` itself keeps the loop, and how long the thread takes to bring the state to the disk.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time

import torch

import oomph

STEPS, EVERY = 40, 20


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512))
    optimizer = torch.optim.AdamW(model.parameters())
    inputs = torch.rand(128, 512)

    def step() -> None:
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()

    step()
    size = 3 * sum(tensor.numel() * 4 for tensor in model.parameters())
    plain, with_it, saves, writes = [], [], [], []
    with tempfile.TemporaryDirectory() as folder, oomph.checkpoint(model, optimizer, folder=folder, every=EVERY) as saved:
        saved.save()
        for _ in range(rounds):
            saved.wait()
            plain.append(timed(lambda: [step() for _ in range(STEPS)]))
            with_it.append(timed(lambda: [(step(), saved.step()) for _ in range(STEPS)]))
            saved.wait()
            saves.append(timed(saved.save))
            writes.append(timed(saved.wait))
    ratio = statistics.median(with_it) / statistics.median(plain)
    middle = [1000 * statistics.median(times) for times in (plain, saves, writes)]
    print(f"state of {size / 1e6:.0f} MB, a step of {middle[0] / STEPS:.1f} ms, a checkpoint every {EVERY} steps: ratio {ratio:.3f}")
    print(f"save() keeps the loop for {middle[1]:.1f} ms; the thread writes for another {middle[2]:.1f} ms")


def timed(call: object) -> float:
    began = time.perf_counter()
    call()  # type: ignore[operator]
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
