"""A diffusion loop: a small U-Net, noise by a schedule, EMA of the weights, samples at intervals."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

TIMESTEPS, IMAGE, BATCH = 1000, 64, 16


class Residual(nn.Module):
    def __init__(self, ins, outs, time):
        super().__init__()
        self.first, self.second = nn.Conv2d(ins, outs, 3, padding=1), nn.Conv2d(outs, outs, 3, padding=1)
        self.norm1, self.norm2 = nn.GroupNorm(8, ins), nn.GroupNorm(8, outs)
        self.time, self.skip = nn.Linear(time, outs), nn.Conv2d(ins, outs, 1)

    def forward(self, x, t):
        h = self.first(F.silu(self.norm1(x))) + self.time(F.silu(t))[:, :, None, None]
        return self.second(F.silu(self.norm2(h))) + self.skip(x)


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.qkv, self.out = nn.GroupNorm(8, width), nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, 3, 4, c // 4, h * w).transpose(-1, -2).unbind(1)
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(-1, -2).reshape(b, c, h, w))


class UNet(nn.Module):
    def __init__(self, widths=(64, 128, 256), time=256):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(64, time), nn.SiLU(), nn.Linear(time, time))
        self.begin = nn.Conv2d(3, widths[0], 3, padding=1)
        pairs = list(zip(widths[:-1], widths[1:]))
        self.down = nn.ModuleList([Residual(a, b, time) for a, b in pairs])
        self.middle, self.attention = Residual(widths[-1], widths[-1], time), Attention(widths[-1])
        self.up = nn.ModuleList([Residual(2 * b, a, time) for a, b in reversed(pairs)])
        self.end = nn.Conv2d(widths[0], 3, 3, padding=1)

    def forward(self, x, t):
        angles = t[:, None].float() * torch.exp(torch.arange(32, device=t.device) * -0.3)
        t = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        x, kept = self.begin(x), []
        for block in self.down:
            kept.append(block(x, t))
            x = F.avg_pool2d(kept[-1], 2)
        x = self.attention(self.middle(x, t))
        for block in self.up:
            x = block(torch.cat([F.interpolate(x, scale_factor=2), kept.pop()], 1), t)
        return self.end(x)


device = "cuda" if torch.cuda.is_available() else "cpu"
model = UNet().to(device)
ema = copy.deepcopy(model).eval().requires_grad_(False)
betas = torch.linspace(1e-4, 0.02, TIMESTEPS, device=device)
alphas = torch.cumprod(1 - betas, 0)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)


@torch.no_grad()
def sample(count=4, steps=5):
    x = torch.randn(count, 3, IMAGE, IMAGE, device=device)
    for t in reversed(range(0, TIMESTEPS, TIMESTEPS // steps)):
        noise = ema(x, torch.full((count,), t, device=device))
        x = (x - (1 - alphas[t]).sqrt() * noise) / alphas[t].sqrt()
    return x.clamp(-1, 1)


for step in range(500):
    images = torch.rand(BATCH, 3, IMAGE, IMAGE).to(device) * 2 - 1
    t = torch.randint(0, TIMESTEPS, (BATCH,), device=device)
    noise = torch.randn_like(images)
    scale = alphas[t][:, None, None, None]
    loss = F.mse_loss(model(scale.sqrt() * images + (1 - scale).sqrt() * noise, t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for kept, new in zip(ema.parameters(), model.parameters()):
            kept.lerp_(new, 1 - 0.999)
    if step % 100 == 0:
        print(step, loss.item(), sample().shape)
