"""WGAN-GP with a residual critic and generator: five critic steps with gradient penalty per generator step."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import autograd

Z_DIM = 128
BATCH = 96
LAMBDA, N_CRITIC = 10, 5


class GenBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.bn1, self.bn2 = nn.BatchNorm2d(cin), nn.BatchNorm2d(cout)
        self.conv1, self.conv2 = nn.Conv2d(cin, cout, 3, padding=1), nn.Conv2d(cout, cout, 3, padding=1)
        self.skip = nn.Conv2d(cin, cout, 1)

    def forward(self, x):
        h = F.interpolate(F.relu(self.bn1(x)), scale_factor=2, mode="nearest")
        h = self.conv2(F.relu(self.bn2(self.conv1(h))))
        return h + self.skip(F.interpolate(x, scale_factor=2, mode="nearest"))


class CriticBlock(nn.Module):
    def __init__(self, cin, cout, size):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm([cin, size, size]), nn.LayerNorm([cin, size, size])
        self.conv1, self.conv2 = nn.Conv2d(cin, cin, 3, padding=1), nn.Conv2d(cin, cout, 3, padding=1)
        self.skip = nn.Conv2d(cin, cout, 1)

    def forward(self, x):
        h = self.conv1(F.relu(self.ln1(x)))
        h = F.avg_pool2d(self.conv2(F.relu(self.ln2(h))), 2)
        return h + self.skip(F.avg_pool2d(x, 2))


class Generator(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.fc = nn.Linear(Z_DIM, 4 * 4 * dim * 8)
        self.blocks = nn.Sequential(
            GenBlock(dim * 8, dim * 8), GenBlock(dim * 8, dim * 4), GenBlock(dim * 4, dim * 2), GenBlock(dim * 2, dim)
        )
        self.out = nn.Sequential(nn.BatchNorm2d(dim), nn.ReLU(), nn.Conv2d(dim, 3, 3, padding=1), nn.Tanh())

    def forward(self, z):
        return self.out(self.blocks(self.fc(z).view(z.size(0), -1, 4, 4)))


def make_critic(dim=64):
    return nn.Sequential(
        nn.Conv2d(3, dim, 3, padding=1),
        CriticBlock(dim, dim * 2, 64),
        CriticBlock(dim * 2, dim * 4, 32),
        CriticBlock(dim * 4, dim * 8, 16),
        CriticBlock(dim * 8, dim * 8, 8),
        nn.Flatten(),
        nn.Linear(4 * 4 * dim * 8, 1),
    )


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1, 1, 1, device=real.device)
    x = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = critic(x)
    grads = autograd.grad(score, x, grad_outputs=torch.ones_like(score), create_graph=True, retain_graph=True)[0]
    return ((grads.flatten(1).norm(2, dim=1) - 1) ** 2).mean()


torch.manual_seed(0)
G, D = Generator().cuda(), make_critic().cuda()
opt_g = torch.optim.Adam(G.parameters(), lr=1e-4, betas=(0.0, 0.9), foreach=False)
opt_d = torch.optim.Adam(D.parameters(), lr=1e-4, betas=(0.0, 0.9), foreach=False)

for it in range(3):
    for _ in range(N_CRITIC):
        real = torch.rand(BATCH, 3, 64, 64).cuda() * 2 - 1
        with torch.no_grad():
            fake = G(torch.randn(BATCH, Z_DIM, device="cuda"))
        opt_d.zero_grad()
        loss_d = D(fake).mean() - D(real).mean() + LAMBDA * gradient_penalty(D, real, fake)
        loss_d.backward()
        opt_d.step()
    opt_g.zero_grad()
    loss_g = -D(G(torch.randn(BATCH, Z_DIM, device="cuda"))).mean()
    loss_g.backward()
    opt_g.step()
    print(f"iter {it} critic {loss_d.item():.3f} generator {loss_g.item():.3f}")
