"""GAN on galaxy image patches with an image pool as in CycleGAN. Both networks are small MLPs, memory goes up by the same amount every iteration."""
import os
import random

import torch
import torch.nn as nn

random.seed(0)
dev = "cuda"


class ImagePool:
    def __init__(self, size=50):
        self.size, self.images = size, []

    def query(self, images):
        if os.environ.get("CURED"):
            images = images.detach()
            self.images = self.images[-self.size:]
        self.images.append(images)
        return random.choice(self.images)


def block(i, o):
    return nn.Sequential(nn.Linear(i, o), nn.LeakyReLU(0.2))


G = nn.Sequential(block(128, 1024), block(1024, 2048), nn.Linear(2048, 48 * 48), nn.Tanh()).to(dev)
D = nn.Sequential(block(48 * 48, 1024), block(1024, 512), nn.Linear(512, 1)).to(dev)
g_opt = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
d_opt = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
pool = ImagePool()
bce = nn.BCEWithLogitsLoss()
real, fake = torch.ones(256, 1, device=dev), torch.zeros(256, 1, device=dev)

for it in range(300):
    x = torch.rand(256, 48 * 48, device=dev)
    # discriminator: more steps than for the generator
    for _ in range(2):
        y = G(torch.randn(256, 128, device=dev))
        d_loss = bce(D(x), real) + bce(D(pool.query(y).detach()), fake)
        d_opt.zero_grad()
        d_loss.backward()
        d_opt.step()
    g_loss = bce(D(G(torch.randn(256, 128, device=dev))), real)
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
    if it % 30 == 0:
        print(it, "pool", len(pool.images), flush=True)
