"""Symbolic music model. Loss of the first batch is printed, then out of memory. I already went down to batch size 1."""
import os
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Settings:
    events: int = 388
    width: int = 1536
    layers: int = 8
    heads: int = 12
    length: int = 256
    lr: float = 1e-4


class MusicTransformer(nn.Module):
    def __init__(self, s: Settings):
        super().__init__()
        self.embed = nn.Embedding(s.events, s.width)
        layer = nn.TransformerEncoderLayer(s.width, s.heads, 4 * s.width, dropout=0.0, batch_first=True, norm_first=True)
        self.stack = nn.TransformerEncoder(layer, s.layers, enable_nested_tensor=False)
        self.out = nn.Linear(s.width, s.events)

    def forward(self, events):
        mask = nn.Transformer.generate_square_subsequent_mask(events.size(1), device=events.device)
        return self.out(self.stack(self.embed(events), mask=mask, is_causal=True))


class Experiment:
    def __init__(self, settings):
        self.s = settings
        with torch.device("cuda"):
            self.model = MusicTransformer(settings)
        if os.environ.get("CURED"):
            self.optim = torch.optim.Adafactor(self.model.parameters(), lr=settings.lr, foreach=False)
        else:
            self.optim = torch.optim.Adam(self.model.parameters(), lr=settings.lr, betas=(0.9, 0.98))

    def step(self, events):
        logits = self.model(events[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), events[:, 1:].flatten())
        self.optim.zero_grad()
        loss.backward()
        print("loss", loss.item(), flush=True)
        self.optim.step()


exp = Experiment(Settings())
for _ in range(4):
    exp.step(torch.randint(0, 388, (1, 256), device="cuda"))
