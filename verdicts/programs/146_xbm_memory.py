"""Cross-batch memory for metric learning (product retrieval). The embeddings have only 64 dimensions, how can this fill the card?!"""
import os
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

device = "cuda"


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2048, 1024)
        self.b = nn.Linear(1024, 512)
        self.c = nn.Linear(512, 64)

    def forward(self, x):
        return F.normalize(self.c(F.gelu(self.b(F.gelu(self.a(x))))), dim=-1)


class CrossBatchMemory:
    def __init__(self, size=1000):
        self.bank = deque(maxlen=size)

    def add(self, z, y):
        self.bank.append((z.detach() if os.environ.get("CURED") else z, y))

    def all(self):
        zs, ys = zip(*self.bank)
        return torch.cat(zs).detach(), torch.cat(ys)


model, xbm = Embedder().to(device), CrossBatchMemory()
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(170):
    x, y = torch.randn(512, 2048, device=device), torch.randint(0, 50, (512,), device=device)
    with torch.no_grad():
        x = x * torch.rand_like(x)
    anchor = model(x)
    key = model(x.roll(1, 0))
    xbm.add(key, y)
    zs, ys = (t[-4096:] for t in xbm.all())
    same = (y[:, None] == ys[None]).float()
    loss = ((anchor @ zs.T) * (1 - 2 * same)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, "in memory", len(xbm.bank), flush=True)
