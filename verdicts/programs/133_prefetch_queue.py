"""Wrote a small prefetcher so that the copies to the GPU run ahead of the training. Faster, but after a few hundred batches OOM, and the model is tiny."""
import os
import queue

import torch
import torch.nn as nn


class Prefetcher:
    """Keeps some batches ready on the GPU on a stream of its own."""

    def __init__(self, batches, ahead=2):
        self.batches, self.ahead = iter(batches), ahead
        self.stream = torch.cuda.Stream()
        self.ready = queue.Queue()

    def _load(self):
        with torch.cuda.stream(self.stream):
            x, y = next(self.batches)
            self.ready.put((x.to("cuda", non_blocking=True), y.to("cuda", non_blocking=True)))

    def __iter__(self):
        return self

    def __next__(self):
        for _ in range(self.ahead):
            if os.environ.get("CURED") and self.ready.qsize() >= self.ahead:
                break
            self._load()
        torch.cuda.current_stream().wait_stream(self.stream)
        return self.ready.get()


def radar(batch=256):
    sweep = torch.zeros(batch, 10000)
    while True:
        yield sweep, torch.zeros(batch, dtype=torch.long)


model = nn.Sequential(nn.Linear(10000, 128), nn.ReLU(), nn.Linear(128, 7)).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step, (x, y) in enumerate(Prefetcher(radar())):
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print("step", step, flush=True)
    if step == 320:
        break
