"""I put the preprocessing in its own memory pool to keep things tidy. After preprocessing the training dies although the preprocessing tensors are all deleted."""
import os

import torch
import torch.nn as nn

pool = None if os.environ.get("CURED") else torch.cuda.MemPool()


def whiten(n=40_000, dim=3072):
    x = torch.randn(n, dim, device="cuda")
    x = x - x.mean(0)
    cov = x.T @ x / n
    scaled = x / (x.std(0) + 1e-6)
    return (scaled[:1000] @ cov).cpu()


def preprocess():
    if pool is None:
        return whiten()
    with torch.cuda.use_mem_pool(pool):
        return whiten()


sample = preprocess()
print("preprocessed", tuple(sample.shape), "in use", torch.cuda.memory_allocated() >> 20, "MiB", flush=True)

with torch.device("cuda"):
    model = nn.Sequential(*[m for _ in range(12) for m in (nn.Linear(3072, 3072), nn.ReLU())])
optimizer = torch.optim.Adam(model.parameters())
for step in range(10):
    x = torch.randn(2048, 3072, device="cuda")
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
    print("step", step, flush=True)
