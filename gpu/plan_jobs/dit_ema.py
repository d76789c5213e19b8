"""Diffusion transformer (DiT-B/2) on made-up latents with adaLN, bf16 autocast and an EMA from swa_utils."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


def timestep_embedding(t, dim):
    freqs = torch.exp(-math.log(10000) * torch.arange(dim // 2, device=t.device) / (dim // 2))
    args = t[:, None].float() * freqs
    return torch.cat([args.cos(), args.sin()], dim=-1)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, elementwise_affine=False)
        self.norm2 = nn.LayerNorm(dim, elementwise_affine=False)
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(approximate="tanh"), nn.Linear(4 * dim, dim))
        self.ada = nn.Sequential(nn.SiLU(), nn.Linear(dim, 6 * dim))
        nn.init.zeros_(self.ada[1].weight)
        nn.init.zeros_(self.ada[1].bias)

    def forward(self, x, c):
        s1, b1, g1, s2, b2, g2 = self.ada(c).unsqueeze(1).chunk(6, dim=-1)
        n, t, d = x.shape
        h = self.norm1(x) * (1 + s1) + b1
        q, k, v = self.qkv(h).reshape(n, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        h = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, t, d)
        x = x + g1 * self.proj(h)
        return x + g2 * self.mlp(self.norm2(x) * (1 + s2) + b2)


class DiT(nn.Module):
    def __init__(self, size=32, patch=2, channels=4, dim=768, depth=12, heads=12, classes=1000):
        super().__init__()
        self.patch, self.grid, self.channels, self.dim = patch, size // patch, channels, dim
        self.embed = nn.Conv2d(channels, dim, patch, stride=patch)
        self.pos = nn.Parameter(torch.randn(1, self.grid**2, dim) * 0.02)
        self.time = nn.Sequential(nn.Linear(256, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.label = nn.Embedding(classes + 1, dim)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(dim, elementwise_affine=False)
        self.out = nn.Linear(dim, patch * patch * channels)

    def forward(self, x, t, y):
        x = self.embed(x).flatten(2).transpose(1, 2) + self.pos
        c = self.time(timestep_embedding(t, 256)) + self.label(y)
        for block in self.blocks:
            x = block(x, c)
        x = self.out(self.norm(x))
        x = x.view(-1, self.grid, self.grid, self.patch, self.patch, self.channels)
        return torch.einsum("nhwpqc->nchpwq", x).reshape(-1, self.channels, self.grid * self.patch, self.grid * self.patch)


def main():
    torch.manual_seed(0)
    device = "cuda"
    model = DiT().to(device)
    ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9999))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.0)
    alpha_bar = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), 0).to(device)
    for step in range(5):
        latents = torch.randn(64, 4, 32, 32).to(device)
        labels = torch.randint(0, 1000, (64,)).to(device)
        labels = torch.where(torch.rand(64, device=device) < 0.1, 1000, labels)
        t = torch.randint(0, 1000, (64,), device=device)
        noise = torch.randn_like(latents)
        a = alpha_bar[t].view(-1, 1, 1, 1)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            predicted = model(a.sqrt() * latents + (1 - a).sqrt() * noise, t, labels)
            loss = F.mse_loss(predicted.float(), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update_parameters(model)
        print(step, loss.item())


if __name__ == "__main__":
    main()
