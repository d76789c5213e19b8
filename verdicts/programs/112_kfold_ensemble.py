"""10-fold cross validation of an electricity load model. Fold 1 to 6 train, then `CUDA out of memory`. Every fold alone is OK!"""
import os
from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Fold:
    number: int
    net: nn.Module = None
    optim: torch.optim.Optimizer = None
    losses: list = field(default_factory=list)

    def train(self, steps=5):
        for _ in range(steps):
            x = torch.randn(64, 168, 16, device="cuda")
            y = torch.randn(64, 24, device="cuda")
            loss = (self.net(x) - y).abs().mean()
            self.optim.zero_grad()
            loss.backward()
            self.optim.step()
            self.losses.append(loss.item())
        return sum(self.losses) / len(self.losses)


class LoadModel(nn.Module):
    def __init__(self, d=512, layers=4):
        super().__init__()
        self.inp = nn.Linear(16, d)
        self.enc = nn.ModuleList([nn.TransformerEncoderLayer(d, 8, 2048, batch_first=True, dropout=0) for _ in range(layers)])
        self.out = nn.Linear(d, 24)

    def forward(self, x):
        x = self.inp(x[:, ::8])
        for e in self.enc:
            x = e(x)
        return self.out(x[:, -1])


def cross_validate(k=10):
    folds, scores = [], []
    for i in range(k):
        with torch.device("cuda"):
            net = LoadModel()
        fold = Fold(i, net, torch.optim.Adam(net.parameters(), 1e-4))
        scores.append(fold.train())
        if os.environ.get("CURED"):
            fold.net = fold.optim = net = None
        folds.append(fold)
        print("fold", i, scores[-1], flush=True)
    return folds, sum(scores) / k


folds, score = cross_validate()
print("CV score", score, "of", len(folds))
