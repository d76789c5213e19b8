"""Curriculum with short sequences first. When the longer ones begin I get out of memory although the error says a gigabyte is reserved but unallocated; starting with the long ones works."""
import os

import torch
import torch.nn as nn

WIDTH = 3072


class Net(nn.Module):
    def __init__(self, depth=16):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = torch.nn.functional.gelu(layer(x))
        return x


def curriculum():
    rows = [5500] * 6 + [7000] * 6
    if os.environ.get("CURED"):  # one long batch before anything else
        rows = [7000] + rows
    return rows


with torch.device("cuda"):
    net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-4, foreach=False)
for step, rows in enumerate(curriculum()):
    x = torch.randn(rows, WIDTH, device="cuda")
    loss = net(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    del loss, x
    print("step", step, rows, flush=True)
