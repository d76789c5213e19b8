"""Autoencoder for single cell data. The forward pass works, loss.backward() goes out of memory, no matter if I use 64 cells or 4."""
import os

import torch
import torch.nn as nn

GENES = 36_000
HIDDEN = 4096 if os.environ.get("CURED") else 12_000


class CellAutoencoder(nn.Module):
    def __init__(self, genes, hidden, latent=64):
        super().__init__()
        self.down = nn.Linear(genes, hidden)
        self.code = nn.Linear(hidden, latent)
        self.expand = nn.Linear(latent, hidden)
        self.up = nn.Linear(hidden, genes)

    def encode(self, counts):
        return self.code(torch.relu(self.down(torch.log1p(counts))))

    def forward(self, counts):
        return self.up(torch.relu(self.expand(self.encode(counts))))


with torch.device("cuda"):
    net = CellAutoencoder(GENES, HIDDEN)
opt = torch.optim.SGD(net.parameters(), lr=1e-3)

for step in range(20):
    counts = torch.rand(64, GENES, device="cuda")
    rate = net(counts).exp()
    loss = (rate - counts * torch.log(rate + 1e-6)).mean()  # Poisson
    loss.backward()
    opt.step()
    opt.zero_grad()
    print(step, loss.item(), flush=True)
