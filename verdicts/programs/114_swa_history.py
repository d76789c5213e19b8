"""Stochastic weight averaging over windows of epochs for a tabular net: training works for some time, later OOM, although the model is not big."""
import os

import torch
import torch.nn as nn
from torch.optim.swa_utils import SWALR, AveragedModel

device = torch.device("cuda", 0)


def make_net(n_in=200, width=2048, depth=4):
    mods = [nn.Linear(n_in, width), nn.SiLU()]
    for _ in range(depth - 1):
        mods += [nn.Linear(width, width), nn.LayerNorm(width), nn.SiLU()]
    return nn.Sequential(*mods, nn.Linear(width, 1))


def epochs(net, opt, n):
    for epoch in range(n):
        for _ in range(4):
            x, y = torch.randn(512, 200, device=device), torch.randn(512, 1, device=device)
            opt.zero_grad()
            nn.functional.mse_loss(net(x), y).backward()
            opt.step()
        yield epoch


def fit():
    with device:
        net = make_net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    swa_sched = SWALR(opt, swa_lr=0.02)
    averages = []
    for epoch in epochs(net, opt, 80):
        if epoch % 2 == 0:
            if os.environ.get("CURED"):
                averages.clear()
            averages.append(AveragedModel(net))
        for avg in averages[-3:]:
            avg.update_parameters(net)
        swa_sched.step()
        if epoch % 5 == 0:
            print(f"epoch {epoch}: {len(averages)} averages", flush=True)
    return averages[-1]


print(sum(p.numel() for p in fit().parameters()))
