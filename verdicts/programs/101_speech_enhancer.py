"""Speech enhancement: the first dozen batches are fine, then CUDA out of memory. Batch size 16 only gets me to step 25 or so."""
import os

import torch
from torch import nn

CURED = bool(os.environ.get("CURED"))
dev = torch.device("cuda:0")


class MaskNet(nn.Module):
    def __init__(self, bins=513, hidden=1024):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(bins, hidden), nn.PReLU(),
            nn.Linear(hidden, hidden), nn.PReLU(),
            nn.Linear(hidden, hidden), nn.PReLU(),
        )
        self.mask = nn.Linear(hidden, bins)

    def forward(self, spec):
        return torch.sigmoid(self.mask(self.body(spec))) * spec


net = MaskNet().to(dev)
opt = torch.optim.Adam(net.parameters(), lr=2e-4)
running = 0.0

for step in range(40):
    noisy = torch.rand(32, 400, 513, device=dev)
    clean = torch.rand(32, 400, 513, device=dev)
    est = net(noisy)
    mag = (est - clean).abs().mean()
    logmag = (torch.log1p(est) - torch.log1p(clean)).abs().mean()
    opt.zero_grad()
    mag.backward(retain_graph=True)
    logmag.backward(retain_graph=True)
    opt.step()
    if CURED:
        running += (mag + logmag).item()
    else:
        running += mag + logmag
    print(f"step {step} avg {float(running) / (step + 1):.4f}")
