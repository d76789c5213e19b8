"""Averaging the predictions of my ten cross validation models. Each of them is 300 MB, but loading the folds already fails at fold 8."""
import os

import torch
from torch import nn


class TabularNet(nn.Module):
    def __init__(self, columns=420, width=2900, depth=9):
        super().__init__()
        self.first = nn.Linear(columns, width)
        self.body = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.last = nn.Linear(width, 1)

    def forward(self, x):
        x = self.first(x).relu()
        for layer in self.body:
            x = x + layer(x).relu()
        return self.last(x).squeeze(-1)


def load_fold(k):
    with torch.device("meta"):
        net = TabularNet()
    return net.to_empty(device="cpu")  # weights of fold k


@torch.no_grad()
def predict(rows):
    total = torch.zeros(len(rows), device="cuda")
    if os.environ.get("CURED"):
        for k in range(10):
            total += load_fold(k).to("cuda").eval()(rows)
        return total / 10
    folds = []
    for k in range(10):
        folds.append(load_fold(k).to("cuda").eval())
        print("loaded fold", k, flush=True)
    for net in folds:
        total += net(rows)
    return total / len(folds)


print(predict(torch.rand(5000, 420, device="cuda")).shape)
