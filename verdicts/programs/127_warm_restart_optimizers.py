"""Warm restarts: a new optimizer and scheduler per cycle. Peak memory was 300 MB in cycle 0; OOM in cycle 12."""
import os

import torch
from torch import nn, optim


class Trainer:
    def __init__(self, net):
        self.net = net
        self.schedules = []

    def new_cycle(self, lr):
        opt = optim.AdamW(self.net.parameters(), lr=lr)
        if os.environ.get("CURED"):
            self.schedules.clear()
        self.schedules.append(optim.lr_scheduler.CosineAnnealingLR(opt, T_max=6))
        return opt, self.schedules[-1]

    def fit(self, cycles, data):
        for c in range(cycles):
            opt, sched = self.new_cycle(1e-3 * 0.8 ** c)
            for _ in range(6):
                x, y = next(data)
                loss = nn.functional.mse_loss(self.net(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
                sched.step()
            print("cycle", c, "lr curve points", len(self.schedules) * 6, flush=True)


def weather(batch=256):
    while True:
        yield torch.randn(batch, 720, device="cuda"), torch.randn(batch, 120, device="cuda")


with torch.device("cuda"):
    net = nn.Sequential(nn.Linear(720, 2048), nn.GELU(), nn.Linear(2048, 4096), nn.GELU(), nn.Linear(4096, 2048), nn.GELU(), nn.Linear(2048, 120))
Trainer(net).fit(25, weather())
