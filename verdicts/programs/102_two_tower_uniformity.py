"""Two-tower recommender. I added the uniformity metric from the paper to my log and now the epoch does not finish (OOM around batch 90)."""
import os
import torch
import torch.nn as nn
import torch.nn.functional as F

device = "cuda"
N_USERS, N_ITEMS, DIM = 60_000, 40_000, 64


class Tower(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.emb = nn.Embedding(n, DIM)
        self.mlp = nn.Sequential(nn.Linear(DIM, 256), nn.ReLU(), nn.Linear(256, 128))

    def forward(self, ids):
        return F.normalize(self.mlp(self.emb(ids)), dim=-1)


def uniformity(z):
    return torch.pdist(z).pow(2).mul(-2).exp().mean().log()


def bpr(u, pos, neg):
    return -F.logsigmoid((u * pos).sum(-1) - (u * neg).sum(-1)).mean()


def run_epoch(users, items, opt, n_batches=200, bs=2048):
    stats = {"loss": 0.0, "uniform": 0.0}
    for b in range(n_batches):
        uid = torch.randint(N_USERS, (bs,), device=device)
        pid, nid = torch.randint(N_ITEMS, (2, bs), device=device)
        u, p, n = users(uid), items(pid), items(nid)
        loss = bpr(u, p, n)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        stats["loss"] += loss.item()
        m = uniformity(u)
        stats["uniform"] += m.item() if os.environ.get("CURED") else m
        if b % 25 == 0:
            print("batch", b, flush=True)
    return {k: float(v) / n_batches for k, v in stats.items()}


users, items = Tower(N_USERS).to(device), Tower(N_ITEMS).to(device)
opt = torch.optim.Adagrad([*users.parameters(), *items.parameters()], lr=0.05)
print(run_epoch(users, items, opt))
