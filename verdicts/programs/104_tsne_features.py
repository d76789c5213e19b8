"""SimCLR pretraining. Everything is detached that I log, and after ~200 iterations I still get CUDA OOM."""
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 1024), nn.BatchNorm1d(1024), nn.ReLU(), nn.Linear(1024, 2048))
        self.projector = nn.Sequential(nn.Linear(2048, 512), nn.ReLU(), nn.Linear(512, 128))

    def forward(self, x):
        h = self.backbone(x)
        return h, F.normalize(self.projector(h), dim=1)


def nt_xent(z1, z2, t=0.5):
    z = torch.cat([z1, z2])
    sim = z @ z.T / t
    sim.fill_diagonal_(-1e9)
    n = len(z1)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)]).to(z.device)
    return F.cross_entropy(sim, target)


def main():
    enc = Encoder().cuda()
    opt = torch.optim.SGD(enc.parameters(), lr=0.3, momentum=0.9)
    tsne_points = []
    for it in range(330):
        a = torch.rand(1024, 3, 32, 32, device="cuda")
        h1, z1 = enc(a)
        h2, z2 = enc(a.flip(-1))
        loss = nt_xent(z1, z2)
        opt.zero_grad()
        loss.backward()
        opt.step()
        h1 = h1.detach()
        if os.environ.get("CURED"):
            tsne_points.append(h1[:16].cpu().numpy())
        else:
            tsne_points.append(h1)
        if it % 40 == 0:
            print(it, loss.item(), flush=True)
    pts = np.concatenate([p if isinstance(p, np.ndarray) else p.cpu().numpy() for p in tsne_points])
    print("to plot:", pts.shape)


main()
