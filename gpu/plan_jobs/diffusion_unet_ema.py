"""DDPM training of a hand-written UNet with self-attention, timestep embedding and an EMA copy."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def timestep_embedding(t, dim):
    args = t[:, None].float() * torch.exp(-math.log(10000) * torch.arange(dim // 2, device=t.device) / (dim // 2))
    return torch.cat([args.cos(), args.sin()], dim=-1)


class ResBlock(nn.Module):
    def __init__(self, cin, cout, tdim, p=0.1):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(32, cin), nn.GroupNorm(32, cout)
        self.conv1, self.conv2 = nn.Conv2d(cin, cout, 3, padding=1), nn.Conv2d(cout, cout, 3, padding=1)
        self.temb, self.drop = nn.Linear(tdim, cout), nn.Dropout(p)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, temb):
        h = self.conv1(F.silu(self.norm1(x))) + self.temb(F.silu(temb))[:, :, None, None]
        return self.skip(x) + self.conv2(self.drop(F.silu(self.norm2(h))))


class AttnBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.norm, self.qkv, self.proj = nn.GroupNorm(32, ch), nn.Conv2d(ch, 3 * ch, 1), nn.Conv2d(ch, ch, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, 3, c, h * w).unbind(1)
        attn = torch.softmax(torch.bmm(q.transpose(1, 2), k) / math.sqrt(c), dim=-1)
        return x + self.proj(torch.bmm(v, attn.transpose(1, 2)).view(b, c, h, w))


class UNet(nn.Module):
    def __init__(self, ch=128, mult=(1, 2, 2, 4), attn_levels=(1, 2)):
        super().__init__()
        self.ch, tdim, c, skips = ch, ch * 4, ch, []
        self.time = nn.Sequential(nn.Linear(ch, tdim), nn.SiLU(), nn.Linear(tdim, tdim))
        self.stem, self.down, self.up = nn.Conv2d(3, ch, 3, padding=1), nn.ModuleList(), nn.ModuleList()
        for i, m in enumerate(mult):
            attn = AttnBlock(ch * m) if i in attn_levels else nn.Identity()
            pool = nn.Conv2d(ch * m, ch * m, 3, stride=2, padding=1) if i < len(mult) - 1 else nn.Identity()
            self.down.append(nn.ModuleList([ResBlock(c, ch * m, tdim), attn, pool]))
            c = ch * m
            skips.append(c)
        self.mid = nn.ModuleList([ResBlock(c, c, tdim), AttnBlock(c), ResBlock(c, c, tdim)])
        for i, m in reversed(list(enumerate(mult))):
            attn = AttnBlock(ch * m) if i in attn_levels else nn.Identity()
            up = nn.Upsample(scale_factor=2, mode="nearest") if i > 0 else nn.Identity()
            self.up.append(nn.ModuleList([ResBlock(c + skips[i], ch * m, tdim), attn, up]))
            c = ch * m
        self.head = nn.Sequential(nn.GroupNorm(32, c), nn.SiLU(), nn.Conv2d(c, 3, 3, padding=1))

    def forward(self, x, t):
        temb, x, skips = self.time(timestep_embedding(t, self.ch)), self.stem(x), []
        for res, attn, pool in self.down:
            skips.append(attn(res(x, temb)))
            x = pool(skips[-1])
        x = self.mid[2](self.mid[1](self.mid[0](x, temb)), temb)
        for res, attn, up in self.up:
            x = up(attn(res(torch.cat([x, skips.pop()], dim=1), temb)))
        return self.head(x)


torch.manual_seed(0)
device = torch.device("cuda")
model = UNet().to(device)
ema = copy.deepcopy(model).eval().requires_grad_(False)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, weight_decay=0.0)
alpha_bar = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000, device=device), dim=0)

for step in range(4):
    x0 = torch.rand(32, 3, 64, 64, device=device) * 2 - 1
    t, noise = torch.randint(0, 1000, (32,), device=device), torch.randn_like(x0)
    ab = alpha_bar[t][:, None, None, None]
    loss = F.mse_loss(model(ab.sqrt() * x0 + (1 - ab).sqrt() * noise, t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for p_ema, p in zip(ema.parameters(), model.parameters()):
            p_ema.mul_(0.9999).add_(p, alpha=1 - 0.9999)
    print(f"step {step} loss {loss.item():.4f}")
