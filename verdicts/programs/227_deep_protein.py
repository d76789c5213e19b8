"""36 layers, thin (320 wide), 48M parameters: why does a protein language model of this size not fit when the batch is just 6?"""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

AMINO = 33


class Layer(nn.Module):
    def __init__(self, d, h=8):
        super().__init__()
        self.h = h
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        q, k, v = self.qkv(self.n1(x)).unflatten(-1, (3, self.h, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class ProteinLM(nn.Module):
    def __init__(self, d=320, depth=36):
        super().__init__()
        self.embed, self.head = nn.Embedding(AMINO, d), nn.Linear(d, AMINO)
        self.layers = nn.ModuleList(Layer(d) for _ in range(depth))

    def forward(self, seq):
        x = self.embed(seq)
        for layer in self.layers:
            if os.environ.get("CURED"):
                x = checkpoint(layer, x, use_reentrant=False)
            else:
                x = layer(x)
        return self.head(x)


def train(batch=6, length=1024, steps=6):
    model = ProteinLM().to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-4)
    for step in range(steps):
        seq = torch.randint(0, AMINO, (batch, length), device="cuda")
        logits = model(seq)
        loss = F.cross_entropy(logits.flatten(0, 1), seq.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(step, loss.item(), flush=True)


train()
