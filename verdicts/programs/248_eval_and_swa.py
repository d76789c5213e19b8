"""I keep the flattened weights of the last epochs for averaging, six at most. They are 210 MB each, so 1.3 GB, but the evaluation after epoch 5 says out of memory with 1 GB unused."""
import os
from collections import deque

import torch
import torch.nn as nn

SNAPSHOTS = 6


def flat(model):
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


def train_epoch(model, optimizer, steps=10):
    for _ in range(steps):
        loss = model(torch.randn(256, 1024, device="cuda")).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def evaluate(model, rows):
    model.eval()
    score = 0.0
    for _ in range(4):
        score += model(torch.randn(rows, 1024, device="cuda")).mean().item()
    model.train()
    return score


model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 200)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
kept = deque(maxlen=SNAPSHOTS)
if os.environ.get("CURED"):  # room for the snapshots from the beginning
    for _ in range(SNAPSHOTS):
        kept.append(torch.zeros(sum(p.numel() for p in model.parameters()), device="cuda"))
for epoch in range(8):
    train_epoch(model, optimizer)
    print("epoch", epoch, evaluate(model, 20_000 + 1500 * epoch), flush=True)
    if os.environ.get("CURED"):
        oldest = kept.popleft()
        torch.cat([p.detach().reshape(-1) for p in model.parameters()], out=oldest)
        kept.append(oldest)
    else:
        kept.append(flat(model))
