"""Gradient accumulation over 64 micro-batches, so that the memory is that of one micro-batch. But it needs far more than that and dies in the first update."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.amp import autocast

ACCUM = 64
device = torch.device("cuda")


class Translator(nn.Module):
    def __init__(self, vocab=4000, d=384):
        super().__init__()
        self.src, self.tgt = nn.Embedding(vocab, d), nn.Embedding(vocab, d)
        self.tr = nn.Transformer(d, 6, 2, 2, 1024, batch_first=True)
        self.out = nn.Linear(d, vocab)

    def forward(self, s, t):
        return self.out(self.tr(self.src(s), self.tgt(t)))


def micro_batches(n):
    for _ in range(n):
        yield torch.randint(0, 4000, (4, 128), device=device), torch.randint(0, 4000, (4, 128), device=device)


model = Translator().to(device)
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
for update in range(2):
    losses = []
    for s, t in micro_batches(ACCUM):
        with autocast("cuda", dtype=torch.bfloat16):
            logits = model(s, t[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), t[:, 1:].flatten())
        if os.environ.get("CURED"):
            (loss / ACCUM).backward()
        else:
            losses.append(loss)
            print("collected", len(losses), flush=True)
    if losses:
        torch.stack(losses).mean().backward()
    opt.step()
    opt.zero_grad()
    print("update", update, flush=True)
