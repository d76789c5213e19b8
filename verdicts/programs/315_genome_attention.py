"""A transformer for DNA. 2048 bases are fine; 8192 at batch size 1 do not even get through the first layer."""
import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda")


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        if os.environ.get("CURED"):
            y = F.scaled_dot_product_attention(q, k, v)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
            y = torch.softmax(scores, dim=-1) @ v
        return self.out(y.transpose(1, 2).reshape(b, s, d))


class Layer(nn.Module):
    def __init__(self, dim=256, heads=8):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(dim), Attention(dim, heads)
        self.norm2, self.mlp = nn.LayerNorm(dim), nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GenomeModel(nn.Module):
    def __init__(self, dim=256, layers=4, bases=6):
        super().__init__()
        self.embed = nn.Embedding(bases, dim)
        self.layers = nn.Sequential(*[Layer(dim) for _ in range(layers)])
        self.head = nn.Linear(dim, bases)

    def forward(self, tokens):
        return self.head(self.layers(self.embed(tokens)))


model = GenomeModel().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for step in range(6):
    bases = torch.randint(0, 6, (1, 8192)).to(device)
    loss = F.cross_entropy(model(bases).flatten(0, 1), bases.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, flush=True)
