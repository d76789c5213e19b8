"""A small StyleGAN2: modulated grouped convolutions, non-saturating loss, lazy R1 penalty."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

CH = {4: 512, 8: 512, 16: 512, 32: 256, 64: 128, 128: 64}
W_DIM = 512


class ModConv(nn.Module):
    def __init__(self, cin, cout, k, demod=True):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(cout, cin, k, k))
        self.scale = 1 / math.sqrt(cin * k * k)
        self.style = nn.Linear(W_DIM, cin)
        self.bias = nn.Parameter(torch.zeros(cout))
        self.demod = demod

    def forward(self, x, w):
        b, c, h, width = x.shape
        weight = self.weight * self.scale * (self.style(w) + 1).view(b, 1, c, 1, 1)
        if self.demod:
            weight = weight * torch.rsqrt(weight.pow(2).sum((2, 3, 4), keepdim=True) + 1e-8)
        weight = weight.flatten(0, 1)
        out = F.conv2d(x.reshape(1, b * c, h, width), weight, padding=weight.shape[-1] // 2, groups=b)
        return out.view(b, -1, h, width) + self.bias.view(1, -1, 1, 1)


class Synthesis(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.Linear(W_DIM, W_DIM) if i % 2 == 0 else nn.LeakyReLU(0.2) for i in range(12)]
        self.mapping = nn.Sequential(*layers)
        self.const = nn.Parameter(torch.randn(1, CH[4], 4, 4))
        sizes = list(CH)
        self.conv1 = nn.ModuleList(ModConv(CH[max(s // 2, 4)], CH[s], 3) for s in sizes)
        self.conv2 = nn.ModuleList(ModConv(CH[s], CH[s], 3) for s in sizes)
        self.rgb = nn.ModuleList(ModConv(CH[s], 3, 1, demod=False) for s in sizes)
        self.noise = nn.Parameter(torch.zeros(len(sizes)))

    def forward(self, z):
        w = self.mapping(F.normalize(z, dim=1))
        x, image = self.const.expand(z.shape[0], -1, -1, -1), None
        for i, (c1, c2, rgb) in enumerate(zip(self.conv1, self.conv2, self.rgb)):
            if i:
                x = F.interpolate(x, scale_factor=2, mode="bilinear")
                image = F.interpolate(image, scale_factor=2, mode="bilinear")
            x = F.leaky_relu(c1(x, w), 0.2)
            x = x + self.noise[i] * torch.randn_like(x[:, :1])
            x = F.leaky_relu(c2(x, w), 0.2)
            image = rgb(x, w) if image is None else image + rgb(x, w)
        return image


class DBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(cin, cin, 3, padding=1), nn.LeakyReLU(0.2), nn.Conv2d(cin, cout, 3, padding=1), nn.LeakyReLU(0.2)
        )
        self.skip = nn.Conv2d(cin, cout, 1, bias=False)

    def forward(self, x):
        return (F.avg_pool2d(self.body(x), 2) + self.skip(F.avg_pool2d(x, 2))) / math.sqrt(2)


torch.manual_seed(0)
device = "cuda"
generator = Synthesis().to(device)
blocks = [DBlock(CH[s], CH[s // 2]) for s in (128, 64, 32, 16, 8)]
discriminator = nn.Sequential(nn.Conv2d(3, CH[128], 1), *blocks, nn.Flatten(), nn.Linear(512 * 16, 1)).to(device)
g_opt = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.0, 0.99))
d_opt = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.0, 0.99))

for step in range(6):
    real = (torch.rand(24, 3, 128, 128) * 2 - 1).to(device)
    with torch.no_grad():
        fake = generator(torch.randn(24, W_DIM, device=device))
    d_loss = F.softplus(discriminator(fake)).mean() + F.softplus(-discriminator(real)).mean()
    if step % 4 == 0:
        real.requires_grad_(True)
        (grad,) = torch.autograd.grad(discriminator(real).sum(), real, create_graph=True)
        d_loss = d_loss + 4 * 5.0 * grad.pow(2).sum((1, 2, 3)).mean()
    d_opt.zero_grad(); d_loss.backward(); d_opt.step()
    g_loss = F.softplus(-discriminator(generator(torch.randn(24, W_DIM, device=device)))).mean()
    g_opt.zero_grad(); g_loss.backward(); g_opt.step()
    print(f"step {step} d {d_loss.item():.3f} g {g_loss.item():.3f}")
