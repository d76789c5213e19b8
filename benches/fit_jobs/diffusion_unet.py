"""A small denoising U-Net with attention in its middle, as diffusion models have it."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--accumulate", type=int, default=1)
args = parser.parse_args()


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.GroupNorm(8, width)
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.time = nn.Linear(256, width)
        self.second = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x, time):
        inner = self.first(nn.functional.silu(self.norm(x))) + self.time(time)[:, :, None, None]
        return x + self.second(nn.functional.silu(inner))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Linear(1, 256)
        self.enter = nn.Conv2d(4, 128, 3, padding=1)
        self.down = nn.ModuleList(Block(128) for _ in range(3))
        self.narrow = nn.Conv2d(128, 256, 4, 2, 1)
        self.middle = nn.ModuleList(Block(256) for _ in range(4))
        self.attention = nn.MultiheadAttention(256, 8, batch_first=True)
        self.widen = nn.ConvTranspose2d(256, 128, 4, 2, 1)
        self.up = nn.ModuleList(Block(128) for _ in range(3))
        self.leave = nn.Conv2d(128, 4, 3, padding=1)

    def forward(self, x, time):
        time = nn.functional.silu(self.time(time))
        x = self.enter(x)
        for block in self.down:
            x = block(x, time)
        skip, x = x, self.narrow(x)
        for block in self.middle:
            x = block(x, time)
        flat = x.flatten(2).transpose(1, 2)
        x = x + self.attention(flat, flat, flat, need_weights=False)[0].transpose(1, 2).unflatten(2, x.shape[2:])
        x = self.widen(x) + skip
        for block in self.up:
            x = block(x, time)
        return self.leave(x)


net = Net().cuda()
average = {name: value.detach().clone() for name, value in net.named_parameters()}
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
for step in range(6):
    for _ in range(args.accumulate):
        clean = torch.randn(args.batch, 4, 64, 64, device="cuda")
        noise, time = torch.randn_like(clean), torch.rand(args.batch, 1, device="cuda")
        noisy = clean + time[:, :, None, None] * noise
        (nn.functional.mse_loss(net(noisy, time), noise) / args.accumulate).backward()
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        for name, value in net.named_parameters():
            average[name].lerp_(value, 0.001)
