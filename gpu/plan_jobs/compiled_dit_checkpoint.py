"""Diffusion transformer on latents: rectified flow loss, activation checkpointing inside the compiled model, autocast."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


def timestep_embedding(t, dim=256):
    freqs = torch.exp(-math.log(10000) * torch.arange(dim // 2, device=t.device, dtype=torch.float32) / (dim // 2))
    args = t[:, None].float() * freqs[None] * 1000
    return torch.cat([args.cos(), args.sin()], dim=-1)


def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class DiTBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)
        self.norm2 = nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(approximate="tanh"), nn.Linear(4 * dim, dim))
        self.ada = nn.Sequential(nn.SiLU(), nn.Linear(dim, 6 * dim))

    def forward(self, x, c):
        s1, k1, g1, s2, k2, g2 = self.ada(c).chunk(6, dim=1)
        q, k, v = self.qkv(modulate(self.norm1(x), s1, k1)).unflatten(2, (3, self.heads, -1)).unbind(2)
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
        x = x + g1.unsqueeze(1) * self.proj(y.transpose(1, 2).flatten(2))
        return x + g2.unsqueeze(1) * self.mlp(modulate(self.norm2(x), s2, k2))


class DiT(nn.Module):
    def __init__(self, size=64, patch=2, channels=4, dim=768, depth=6, heads=12, classes=1000):
        super().__init__()
        self.patch = patch
        self.embed = nn.Conv2d(channels, dim, patch, patch)
        self.pos = nn.Parameter(torch.randn(1, (size // patch) ** 2, dim) * 0.02)
        self.time = nn.Sequential(nn.Linear(256, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.label = nn.Embedding(classes + 1, dim)
        self.blocks = nn.ModuleList(DiTBlock(dim, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(dim, elementwise_affine=False)
        self.final = nn.Linear(dim, patch * patch * channels)

    def forward(self, x, t, y):
        side = x.shape[-1] // self.patch
        h = self.embed(x).flatten(2).transpose(1, 2) + self.pos
        c = self.time(timestep_embedding(t)) + self.label(y)
        for block in self.blocks:
            h = checkpoint(block, h, c, use_reentrant=False)
        h = self.final(self.norm(h)).view(len(x), side, side, self.patch, self.patch, -1)
        return h.permute(0, 5, 1, 3, 2, 4).reshape(x.shape)


torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
model = DiT().cuda()
ema = {name: p.detach().clone() for name, p in model.named_parameters()}
net = torch.compile(model)
opt = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0)
for step in range(4):
    x1 = torch.randn(32, 4, 64, 64, device="cuda")
    y = torch.where(torch.rand(32, device="cuda") < 0.1, 1000, torch.randint(0, 1000, (32,), device="cuda"))
    x0, t = torch.randn_like(x1), torch.rand(32, device="cuda")
    xt = torch.lerp(x0, x1, t.view(-1, 1, 1, 1))
    with torch.autocast("cuda", torch.bfloat16):
        loss = F.mse_loss(net(xt, t, y).float(), x1 - x0)
    loss.backward()
    opt.step()
    opt.zero_grad(set_to_none=True)
    for name, p in model.named_parameters():
        ema[name].lerp_(p.detach(), 0.001)
    print(step, loss.item())
