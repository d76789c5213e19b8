"""GAN on spectrogram patches. The generator step fits, the discriminator step, which trains a much smaller network, is the one that crashes."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F


def stack(sizes, last):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.LayerNorm(b), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], last))


G = stack([128, 1024, 2048, 2048, 2048, 2048], 4096).cuda()
D = stack([4096, 1024, 512], 1).cuda()
g_opt = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
d_opt = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
BATCH = 3072


def noise():
    return torch.randn(BATCH, 128, device="cuda")


def discriminator_step(real):
    total = 0.0
    fakes = []
    for _ in range(4):  # a few sets of fakes for each set of real ones
        if os.environ.get("CURED"):
            with torch.no_grad():
                fakes.append(G(noise()))
        else:
            fakes.append(G(noise()))
    loss = F.softplus(-D(real)).mean() + sum(F.softplus(D(f)).mean() for f in fakes) / len(fakes)
    d_opt.zero_grad()
    loss.backward()
    d_opt.step()
    return total + loss.item()


def generator_step():
    loss = F.softplus(-D(G(noise()))).mean()
    g_opt.zero_grad()
    loss.backward()
    g_opt.step()
    return loss.item()


for it in range(10):
    print(it, "G", generator_step(), flush=True)
    print(it, "D", discriminator_step(torch.randn(BATCH, 4096, device="cuda")), flush=True)
