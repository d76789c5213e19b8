"""Metric learning for faces with hard negative mining. Fine with 256 faces a batch; 2048 are needed for good negatives and the loss explodes in memory."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

dev = "cuda"


class FaceNet(nn.Module):
    def __init__(self, out=256):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(3 * 56 * 56, 512), nn.PReLU(), nn.Linear(512, 512), nn.PReLU(), nn.Linear(512, out))

    def forward(self, x):
        return F.normalize(self.body(x), dim=1)


def all_distances(e):
    if os.environ.get("CURED"):
        return (2 - 2 * e @ e.T).clamp(min=1e-6).sqrt()
    difference = e[:, None, :] - e[None, :, :]
    return difference.pow(2).sum(-1).clamp(min=1e-6).sqrt()


def batch_hard(e, person, margin=0.2):
    d = all_distances(e)
    same = person[:, None] == person[None, :]
    hardest_positive = (d * same).amax(1)
    hardest_negative = (d + 1e3 * same).amin(1)
    return F.relu(hardest_positive - hardest_negative + margin).mean()


net, opt = FaceNet().to(dev), None
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
for step, n in enumerate([256] * 20 + [2048] * 20):
    faces, person = torch.rand(n, 3, 56, 56, device=dev), torch.randint(0, n // 4, (n,), device=dev)
    loss = batch_hard(net(faces), person)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, n, loss.item(), flush=True)
