"""Two layer GCN, works on Cora. On a citation graph with 30k papers, and only 200k links, it dies while preparing the data."""
import os

import torch
from torch import nn

N, E = 30_000, 200_000
edges = torch.randint(0, N, (2, E), device="cuda")


def normalised_adjacency(edges):
    a = torch.zeros(N, N, device="cuda")
    a[edges[0], edges[1]] = 1.0
    a = a + torch.eye(N, device="cuda")
    d = a.sum(1).rsqrt()
    return d[:, None] * a * d[None, :]


class DenseGCN(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.lin = nn.ModuleList(nn.Linear(i, o) for i, o in zip(sizes, sizes[1:]))

    def propagate(self, x):
        if os.environ.get("CURED"):
            return x.index_add(0, edges[1], x[edges[0]]) / 2
        return self.adj @ x

    def forward(self, x):
        for layer in self.lin[:-1]:
            x = torch.relu(self.propagate(layer(x)))
        return self.propagate(self.lin[-1](x))


model = DenseGCN([300, 64, 16]).cuda()
if not os.environ.get("CURED"):
    model.adj = normalised_adjacency(edges)
features, labels = torch.rand(N, 300, device="cuda"), torch.randint(0, 16, (N,), device="cuda")
opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(50):
    loss = nn.functional.cross_entropy(model(features), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("done", loss.item())
