"""Progressive growing of my MLP-mixer: it should get one more block per phase of 10 epochs. Fails with OOM during phase 1, where it should still be small."""
import os

import torch
import torch.nn as nn


class MixBlock(nn.Module):
    def __init__(self, tokens=64, dim=512):
        super().__init__()
        self.t = nn.Sequential(nn.Linear(tokens, 128), nn.GELU(), nn.Linear(128, tokens))
        self.c = nn.Sequential(nn.Linear(dim, 2048), nn.GELU(), nn.Linear(2048, dim))

    def forward(self, x):
        x = x + self.t(x.transpose(1, 2)).transpose(1, 2)
        return x + self.c(x)


class GrowingMixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(48, 512)
        self.blocks = nn.ModuleList()
        self.head = nn.Linear(512, 10)
        self.phase = -1

    def start(self, phase):
        if os.environ.get("CURED") and phase == self.phase:
            return
        self.phase = phase
        self.blocks.append(MixBlock().to("cuda"))

    def forward(self, x):
        x = self.stem(x)
        for b in self.blocks:
            x = b(x)
        return self.head(x.mean(1))


model = GrowingMixer().to("cuda")
for epoch in range(60):
    model.start(phase=epoch // 20)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(3):
        x, y = torch.rand(32, 64, 48, device="cuda"), torch.randint(0, 10, (32,), device="cuda")
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "phase", epoch // 20, flush=True)
