"""GCN on molecule-protein graphs. Precomputing the normalised adjacency once per graph made it 3x faster, but big datasets now crash with CUDA OOM."""
import os
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda")
random.seed(1)
_adj_memo = {}


def edges_of(graph_id):
    n = random.randrange(800, 1500)
    return n, torch.randint(0, n, (2, 4 * n))


def normalised_adjacency(graph_id):
    if graph_id in _adj_memo:
        return _adj_memo[graph_id]
    n, e = edges_of(graph_id)
    a = torch.eye(n, device=device)
    e = e.to(device)
    a.index_put_((e[0], e[1]), torch.ones(e.shape[1], device=device))
    d = a.sum(1).rsqrt()
    a = a.mul_(d[:, None]).mul_(d[None, :])
    if os.environ.get("CURED") and len(_adj_memo) > 16:
        _adj_memo.pop(next(iter(_adj_memo)))
    _adj_memo[graph_id] = a
    return a


class GCN(nn.Module):
    def __init__(self, feats=32, hid=128, classes=2):
        super().__init__()
        self.w = nn.ModuleList([nn.Linear(feats, hid), nn.Linear(hid, hid), nn.Linear(hid, hid)])
        self.cls = nn.Linear(hid, classes)

    def forward(self, x, a):
        for w in self.w:
            x = F.relu(a @ w(x))
        return self.cls(x.mean(0))


model = GCN().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=5e-4)
for gid in range(400):
    a = normalised_adjacency(gid)
    out = model(torch.randn(a.shape[0], 32, device=device), a)
    loss = F.cross_entropy(out[None], torch.zeros(1, dtype=torch.long, device=device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if gid % 50 == 49:
        print("graphs seen", gid + 1, flush=True)
