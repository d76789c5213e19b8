"""Fine-tuning a small diffusion model with a differentiable reward. Ordinary training uses 400 MB; here it stops inside the sampling loop at some t."""
import os

import torch
import torch.nn as nn

STEPS = 50


class Denoiser(nn.Module):
    def __init__(self, dim=1024, data=768):
        super().__init__()
        self.time = nn.Embedding(STEPS, dim)
        self.inp, self.out = nn.Linear(data, dim), nn.Linear(dim, data)
        self.mid = nn.ModuleList(nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim)) for _ in range(4))

    def forward(self, x, t):
        h = self.inp(x) + self.time(t)
        for m in self.mid:
            h = h + m(h)
        return self.out(h)


def sample(model, n, keep_last=None):
    x = torch.randn(n, 768, device="cuda")
    for i in reversed(range(STEPS)):
        t = torch.full((n,), i, device="cuda")
        with torch.set_grad_enabled(keep_last is None or i < keep_last):
            eps = model(x, t)
            x = (x - 0.1 * eps) / 0.99 ** 0.5
    return x


model = Denoiser().cuda()
reward = nn.Sequential(nn.Linear(768, 256), nn.ReLU(), nn.Linear(256, 1)).cuda().requires_grad_(False)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for update in range(5):
    images = sample(model, 1024, keep_last=3 if os.environ.get("CURED") else None)
    loss = -reward(images).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("update", update, "reward", -loss.item(), flush=True)
