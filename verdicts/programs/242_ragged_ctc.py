"""Speech recognition with utterances of all lengths. A batch of only the longest utterances fits every time, but with the real mixture it crashes after a few dozen steps."""
import os
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(8)
DIM = 768


class Conformerish(nn.Module):
    def __init__(self, depth=8):
        super().__init__()
        self.inp, self.out = nn.Linear(80, DIM), nn.Linear(DIM, 1000)
        self.ff = nn.ModuleList(nn.Sequential(nn.LayerNorm(DIM), nn.Linear(DIM, 4 * DIM), nn.SiLU(), nn.Linear(4 * DIM, DIM)) for _ in range(depth))
        self.gate = nn.ModuleList(nn.Sequential(nn.LayerNorm(DIM), nn.Linear(DIM, 2 * DIM), nn.GLU()) for _ in range(depth))

    def forward(self, mel):
        x = self.inp(mel)
        for ff, gate in zip(self.ff, self.gate):
            x = x + ff(x)
            x = x + gate(x)
        return self.out(x)


def utterances(n, longest=1500):
    for _ in range(n):
        frames = random.randint(200, longest)
        if os.environ.get("CURED"):
            frames = longest  # pad all to one length
        yield torch.randn(6, frames, 80, device="cuda")


model = Conformerish().cuda()
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step, mel in enumerate(utterances(150)):
    log_probs = F.log_softmax(model(mel), -1)
    loss = -log_probs.mean()
    loss.backward()
    if step % 4 == 3:
        opt.step()
        opt.zero_grad()
    del mel, log_probs, loss
    if step % 25 == 0:
        print("step", step, flush=True)
