"""Super-resolution transformer trained on 64x64 crops. Validation on the full pictures (no_grad!) is out of memory with batch size 1."""
import os

import torch
import torch.nn as nn

device = "cuda"


class Attn(nn.Module):
    def __init__(self, d=64, heads=4):
        super().__init__()
        self.h, self.qkv, self.o = heads, nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.h, -1).permute(2, 0, 3, 1, 4)
        a = (q @ k.transpose(-2, -1)) * (d // self.h) ** -0.5
        return self.o((a.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d))


class SR(nn.Module):
    def __init__(self, d=64, depth=3, p=4):
        super().__init__()
        self.p = p
        self.inp, self.out = nn.Linear(3 * p * p, d), nn.Linear(d, 3 * 4 * p * p)
        self.layers = nn.ModuleList(Attn(d) for _ in range(depth))

    def forward(self, img):
        x = nn.functional.unfold(img, self.p, stride=self.p).transpose(1, 2)
        x = self.inp(x)
        for layer in self.layers:
            x = x + layer(x)
        y = self.out(x).transpose(1, 2)
        return nn.functional.fold(y, (img.shape[2] * 2, img.shape[3] * 2), 2 * self.p, stride=2 * self.p)


net = SR().to(device)
opt = torch.optim.Adam(net.parameters(), lr=2e-4)
for step in range(30):
    lr = torch.rand(16, 3, 64, 64, device=device)
    loss = (net(lr) - torch.rand(16, 3, 128, 128, device=device)).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("training part done", flush=True)
net.eval()
side = 256 if os.environ.get("CURED") else 512
with torch.no_grad():
    for i in range(5):
        full = torch.rand(1, 3, side, side, device=device)
        print("picture", i, net(full).shape, flush=True)
