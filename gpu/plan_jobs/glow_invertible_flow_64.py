"""Glow on 64x64 images: actnorm with data-dependent init, LU-free 1x1 convolutions, affine couplings, then sampling."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

LEVELS = 4
STEPS_PER_LEVEL = 16
HIDDEN = 512
BATCH = 32
TRAIN_STEPS = 6
BITS = 5


class ActNorm(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(1, c, 1, 1))
        self.log_scale = nn.Parameter(torch.zeros(1, c, 1, 1))
        self.register_buffer("initialized", torch.tensor(False))

    def forward(self, x):
        if not self.initialized:
            with torch.no_grad():
                mean = x.mean((0, 2, 3), keepdim=True)
                std = x.std((0, 2, 3), keepdim=True)
                self.loc.copy_(-mean)
                self.log_scale.copy_(-torch.log(std + 1e-6))
                self.initialized.fill_(True)
        logdet = x.shape[2] * x.shape[3] * self.log_scale.sum()
        return (x + self.loc) * self.log_scale.exp(), logdet

    def inverse(self, y):
        return y * torch.exp(-self.log_scale) - self.loc


class InvConv(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.weight = nn.Parameter(torch.linalg.qr(torch.randn(c, c))[0])

    def forward(self, x):
        logdet = x.shape[2] * x.shape[3] * torch.linalg.slogdet(self.weight)[1]
        return F.conv2d(x, self.weight[:, :, None, None]), logdet

    def inverse(self, y):
        return F.conv2d(y, torch.linalg.inv(self.weight)[:, :, None, None])


class ZeroConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1)
        nn.init.zeros_(self.conv.weight)
        nn.init.zeros_(self.conv.bias)
        self.scale = nn.Parameter(torch.zeros(1, cout, 1, 1))

    def forward(self, x):
        return self.conv(x) * torch.exp(self.scale * 3)


class Coupling(nn.Module):
    def __init__(self, c, hidden):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(c // 2, hidden, 3, padding=1), nn.ReLU(),
            nn.Conv2d(hidden, hidden, 1), nn.ReLU(),
            ZeroConv(hidden, c),
        )

    def params(self, a):
        log_s, t = self.net(a).chunk(2, 1)
        return torch.sigmoid(log_s + 2), t

    def forward(self, x):
        a, b = x.chunk(2, 1)
        s, t = self.params(a)
        return torch.cat([a, (b + t) * s], 1), s.log().flatten(1).sum(1)

    def inverse(self, y):
        a, b = y.chunk(2, 1)
        s, t = self.params(a)
        return torch.cat([a, b / s - t], 1)


def squeeze(x):
    return F.pixel_unshuffle(x, 2)


class Glow(nn.Module):
    def __init__(self):
        super().__init__()
        self.levels = nn.ModuleList()
        self.priors = nn.ModuleList()
        c = 3
        for level in range(LEVELS):
            c *= 4
            flows = []
            for _ in range(STEPS_PER_LEVEL):
                flows += [ActNorm(c), InvConv(c), Coupling(c, HIDDEN)]
            self.levels.append(nn.ModuleList(flows))
            if level < LEVELS - 1:
                c //= 2
                self.priors.append(ZeroConv(c, 2 * c))
            else:
                self.priors.append(ZeroConv(c, 2 * c))

    def log_prob(self, x):
        total = 0.0
        for i, flows in enumerate(self.levels):
            x = squeeze(x)
            for f in flows:
                x, ld = f(x)
                total = total + ld
            if i < LEVELS - 1:
                x, z = x.chunk(2, 1)
                mean, log_sd = self.priors[i](x).chunk(2, 1)
            else:
                z = x
                mean, log_sd = self.priors[i](torch.zeros_like(x)).chunk(2, 1)
            lp = -0.5 * math.log(2 * math.pi) - log_sd - 0.5 * (z - mean) ** 2 / (2 * log_sd).exp()
            total = total + lp.flatten(1).sum(1)
        return total

    @torch.no_grad()
    def sample(self, n, size, temperature, device):
        h = size // 2**LEVELS
        c = self.priors[-1].conv.in_channels
        x = None
        for i in reversed(range(LEVELS)):
            if x is None:
                mean, log_sd = self.priors[i](torch.zeros(n, c, h, h, device=device)).chunk(2, 1)
                x = mean + log_sd.exp() * temperature * torch.randn_like(mean)
            else:
                mean, log_sd = self.priors[i](x).chunk(2, 1)
                x = torch.cat([x, mean + log_sd.exp() * temperature * torch.randn_like(mean)], 1)
            for f in reversed(self.levels[i]):
                x = f.inverse(x)
            x = F.pixel_shuffle(x, 2)
        return x


def main():
    torch.manual_seed(8)
    device = torch.device("cuda")
    model = Glow().to(device)
    optimizer = torch.optim.Adamax(model.parameters(), lr=1e-3)
    bins = 2**BITS
    dims = 3 * 64 * 64

    for step in range(TRAIN_STEPS):
        image = torch.randint(0, bins, (BATCH, 3, 64, 64), device=device).float()
        x = (image + torch.rand_like(image)) / bins - 0.5
        nll = -(model.log_prob(x) - dims * math.log(bins)) / (dims * math.log(2))
        loss = nll.mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(model.parameters(), 5.0)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 100.0)
        optimizer.step()
        print(f"step {step} bits/dim {loss.item():.3f}")

    samples = model.sample(64, 64, 0.7, device)
    print("samples", tuple(samples.shape), bool(samples.isfinite().all()))


if __name__ == "__main__":
    main()
