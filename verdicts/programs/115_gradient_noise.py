"""Measuring the gradient noise scale during training. I clone the gradients (so no graph!) and it still eats the whole card in 25 steps."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

dev = "cuda"


def flat_grad(params):
    return torch.cat([p.grad.detach().flatten() for p in params])


class NoiseScale:
    def __init__(self):
        self.grads = []
        self.mean, self.sq, self.n = None, 0.0, 0

    def add(self, g):
        if os.environ.get("CURED"):
            self.n += 1
            self.mean = g if self.mean is None else self.mean.lerp_(g, 1 / self.n)
            self.sq += g.dot(g).item()
        else:
            self.grads.append(g)

    def value(self):
        if self.grads:
            recent = self.grads[-8:]
            mean = sum(recent) / len(recent)
            return sum((g - mean).pow(2).sum() for g in recent).item() / max(mean.dot(mean).item(), 1e-9)
        return self.sq / self.n / max(self.mean.dot(self.mean).item(), 1e-9)


with torch.device(dev):
    model = nn.Sequential(nn.Embedding(5000, 256), nn.Flatten(), nn.Linear(256 * 32, 1536), nn.ReLU(), nn.Linear(1536, 5000))
opt = torch.optim.SGD(model.parameters(), lr=1e-2)
noise = NoiseScale()
for step in range(60):
    ctx, nxt = torch.randint(0, 5000, (128, 32), device=dev), torch.randint(0, 5000, (128,), device=dev)
    loss = F.cross_entropy(model(ctx), nxt)
    opt.zero_grad()
    loss.backward()
    noise.add(flat_grad(list(model.parameters())))
    opt.step()
    if step % 10 == 9:
        print(step, "noise defined:", noise.value() == noise.value())
