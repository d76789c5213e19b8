"""My own normalisation layer with running statistics (I need the second moment). Replacing nn.BatchNorm1d by it makes the training run out of memory after ~100 steps."""
import os

import torch
import torch.nn as nn

device = "cuda"


class MomentNorm(nn.Module):
    def __init__(self, dim, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.scale = nn.Parameter(torch.ones(dim))
        self.shift = nn.Parameter(torch.zeros(dim))
        self.running_sq = torch.ones(dim, device=device)
        self.running_mean = torch.zeros(dim, device=device)

    def forward(self, x):
        mean, var = x.mean(0), x.var(0)
        if self.training:
            y = x.detach() if os.environ.get("CURED") else x
            self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * y.mean(0)
            self.running_sq = (1 - self.momentum) * self.running_sq + self.momentum * (y * y).mean(0)
        else:
            mean, var = self.running_mean, self.running_sq - self.running_mean ** 2
        return (x - mean) / (var + 1e-5).sqrt() * self.scale + self.shift


def layer(i, o):
    return nn.Sequential(nn.Linear(i, o), MomentNorm(o), nn.ReLU())


model = nn.Sequential(layer(100, 512), layer(512, 512), layer(512, 512), nn.Linear(512, 5)).to(device)
opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for step in range(260):
    x, y = torch.randn(2048, 100, device=device), torch.randint(0, 5, (2048,), device=device)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print("step", step, flush=True)
