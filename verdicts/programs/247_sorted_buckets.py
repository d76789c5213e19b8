"""Sorting the corpus by length made training faster. But then it fails near the end of the epoch, at 60 % real usage; with the order reversed it runs."""
import os

import torch
import torch.nn as nn

DIM = 1024
lengths = list(range(2000, 26000, 1500))  # ascending: tokens per bucket
if os.environ.get("CURED"):
    lengths = lengths[::-1]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(256, DIM), nn.Linear(DIM, DIM)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


encoder = Encoder().cuda()
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
centre = torch.zeros(DIM, device="cuda")
bank = {}  # for each bucket the embeddings that the contrastive loss compares with later

for tokens in lengths:
    for repeat in range(3):
        x = torch.randn(tokens, 256, device="cuda")
        z = encoder(x)
        loss = (z - centre).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    z = z.detach()
    del x, loss
    bank[tokens] = z[: int(tokens * 0.55)].clone()
    del z
    print("bucket", tokens, "bank", sum(v.numel() * 4 for v in bank.values()) >> 20, "MiB", flush=True)
