"""Matrix factorisation, Recall@20 after each epoch. A tiny model (20 MB), but evaluation asks for 11 GB at once??"""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

USERS, ITEMS = 60_000, 50_000


class MF(nn.Module):
    def __init__(self, k=48):
        super().__init__()
        self.u, self.i = nn.Embedding(USERS, k), nn.Embedding(ITEMS, k)

    def forward(self, u, i):
        return (self.u(u) * self.i(i)).sum(-1)

    @torch.no_grad()
    def rank(self, users, top=20):
        scores = self.u(users) @ self.i.weight.T
        return scores.topk(top, dim=1).indices


def recall(model):
    users = torch.arange(USERS, device="cuda")
    if os.environ.get("CURED"):
        ranked = torch.cat([model.rank(part) for part in users.split(4096)])
    else:
        ranked = model.rank(users)
    truth = torch.randint(0, ITEMS, (USERS, 1), device="cuda")
    return (ranked == truth).any(1).float().mean().item()


with torch.device("cuda"):
    mf = MF()
opt = torch.optim.Adagrad(mf.parameters(), lr=0.1)
for epoch in range(3):
    for _ in range(30):
        u, p, n = (torch.randint(0, m, (8192,), device="cuda") for m in (USERS, ITEMS, ITEMS))
        loss = F.softplus(mf(u, n) - mf(u, p)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, loss.item(), flush=True)
    print("recall@20", recall(mf), flush=True)
