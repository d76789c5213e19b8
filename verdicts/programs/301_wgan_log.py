"""WGAN training slows down and dies after some hundred iterations, although the batch never changes."""
import os
from collections import defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F

device = "cuda"


class Critic(nn.Module):
    def __init__(self, ch=64):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, ch, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(ch, 2 * ch, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(2 * ch, 4 * ch, 4, 2, 1), nn.LeakyReLU(0.2), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.score = nn.Linear(4 * ch, 1)

    def forward(self, x):
        return self.score(self.features(x))


generator = nn.Sequential(nn.Linear(128, 256 * 64), nn.Unflatten(1, (256, 8, 8)), nn.ReLU(),
                          nn.ConvTranspose2d(256, 128, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.ReLU(),
                          nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh()).to(device)
critic = Critic().to(device)
opt_g = torch.optim.RMSprop(generator.parameters(), lr=5e-5)
opt_c = torch.optim.RMSprop(critic.parameters(), lr=5e-5)
log = defaultdict(list)

for it in range(250):
    real = torch.rand(64, 3, 64, 64).to(device) * 2 - 1
    fake = generator(torch.randn(64, 128, device=device)).detach()
    loss_c = critic(fake).mean() - critic(real).mean()
    opt_c.zero_grad()
    loss_c.backward()
    opt_c.step()
    for p in critic.parameters():
        p.data.clamp_(-0.01, 0.01)

    gap = F.l1_loss(critic.features(fake).mean(0), critic.features(real).mean(0))
    log["critic"].append(loss_c.item())
    log["feature_gap"].append(gap.item() if os.environ.get("CURED") else gap)

    if it % 5 == 0:
        loss_g = -critic(generator(torch.randn(64, 128, device=device))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
    if it % 50 == 0:
        print("iteration", it, len(log["feature_gap"]), flush=True)
