"""Matrix factorisation with 8M users. Model size is 2 GB so I thought a 5 GB limit would be generous. Crash in the very first update."""
import os

import torch
from torch import nn


class MatrixFactorisation(nn.Module):
    def __init__(self, users, items, k=56, sparse=False):
        super().__init__()
        self.user = nn.Embedding(users, k, sparse=sparse)
        self.item = nn.Embedding(items, k, sparse=sparse)
        self.bias = nn.Embedding(items, 1, sparse=sparse)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1) + self.bias(i).squeeze(-1)


cured = bool(os.environ.get("CURED"))
with torch.device("cuda"):
    mf = MatrixFactorisation(8_000_000, 400_000, sparse=cured)
if cured:
    optimizer = torch.optim.SGD(mf.parameters(), lr=0.05)
else:
    optimizer = torch.optim.Adam(mf.parameters(), lr=1e-3)

for step in range(30):
    u = torch.randint(0, 8_000_000, (4096,), device="cuda")
    i = torch.randint(0, 400_000, (4096,), device="cuda")
    stars = torch.rand(4096, device="cuda") * 4 + 1
    loss = nn.functional.mse_loss(mf(u, i), stars)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), flush=True)
