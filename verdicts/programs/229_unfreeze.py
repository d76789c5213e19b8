"""Transfer learning: the head alone trains fine for an epoch, then I unfreeze the backbone and the first or second step afterwards kills it."""
import os

import torch
import torch.nn as nn


class Backbone(nn.Module):
    def __init__(self, width=3072, depth=12):
        super().__init__()
        self.stages = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.SiLU()) for _ in range(depth))

    def forward(self, x):
        for s in self.stages:
            x = x + s(x)
        return x


def unfreeze(backbone, optimizer, lr):
    stages = backbone.stages[-2:] if os.environ.get("CURED") else backbone.stages
    params = [p for s in stages for p in s.parameters()]
    for p in params:
        p.requires_grad_(True)
    optimizer.add_param_group({"params": params, "lr": lr})


with torch.device("cuda"):
    backbone, head = Backbone().requires_grad_(False), nn.Linear(3072, 21)
optimizer = torch.optim.AdamW(head.parameters(), lr=1e-3)

for step in range(80):
    if step == 50:
        unfreeze(backbone, optimizer, lr=1e-5)
        print("backbone released", flush=True)
    x, y = torch.randn(64, 3072, device="cuda"), torch.randint(0, 21, (64,), device="cuda")
    loss = nn.functional.cross_entropy(head(backbone(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("finished", loss.item())
