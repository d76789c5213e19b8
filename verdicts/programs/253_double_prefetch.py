"""My GPU was waiting for data so I wrote a prefetcher that keeps the next batches ready on the device. Now a volume batch that trained yesterday is too much."""
import os
from collections import deque

import torch
import torch.nn as nn


class Prefetcher:
    def __init__(self, loader, ahead):
        self.source, self.ready = iter(loader), deque()
        for _ in range(ahead):
            self.fetch()

    def fetch(self):
        try:
            self.ready.append({k: v.to("cuda", non_blocking=True) for k, v in next(self.source).items()})
        except StopIteration:
            pass

    def __iter__(self):
        while self.ready:
            self.fetch()
            yield self.ready.popleft()


def volumes(n):
    scan, mask = torch.zeros(2, 1, 128, 256, 256), torch.zeros(2, 1, 128, 256, 256)
    for _ in range(n):
        yield {"ct": scan, "pet": scan, "mask": mask, "dose": mask}


model = nn.Sequential(nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 256)).cuda()
optimizer = torch.optim.Adam(model.parameters())
ahead = 1 if os.environ.get("CURED") else 8
for step, batch in enumerate(Prefetcher(volumes(14), ahead)):
    image = batch["ct"] + batch["pet"]
    loss = (model(image) - batch["mask"]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    del batch, image, loss
    print("step", step, flush=True)
