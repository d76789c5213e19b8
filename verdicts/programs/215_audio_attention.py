"""Audio tagging: 10 second clips train well, with 60 second clips (6 times as long) not even ONE clip fits. 6x the memory would be fine!"""
import math
import os

import torch
import torch.nn as nn

device = "cuda"


class Attention(nn.Module):
    def __init__(self, dim=256, heads=8):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim) for _ in range(4))

    def split(self, t):
        return t.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        if os.environ.get("CURED"):
            out = nn.functional.scaled_dot_product_attention(q, k, v)
        else:
            scores = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.size(-1))
            weights = torch.softmax(scores, dim=-1)
            out = torch.einsum("bhij,bhjd->bhid", weights, v)
        return self.o(out.transpose(1, 2).flatten(2))


class Tagger(nn.Module):
    def __init__(self, dim=256, depth=4, tags=200):
        super().__init__()
        self.inp = nn.Linear(64, dim)
        self.attn = nn.ModuleList(Attention(dim) for _ in range(depth))
        self.ff = nn.ModuleList(nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim)) for _ in range(depth))
        self.head = nn.Linear(dim, tags)

    def forward(self, spectrogram):
        x = self.inp(spectrogram)
        for a, f in zip(self.attn, self.ff):
            x = x + a(x)
            x = x + f(x)
        return self.head(x.mean(1))


model = Tagger().to(device)
optimizer = torch.optim.Adam(model.parameters())
for seconds in [10, 10, 10, 10, 60, 60, 60]:
    clip = torch.randn(1, seconds * 100, 64, device=device)
    loss = nn.functional.binary_cross_entropy_with_logits(model(clip), torch.zeros(1, 200, device=device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(seconds, "s clip:", loss.item(), flush=True)
