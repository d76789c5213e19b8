"""Semi-supervised training: I loop over the labelled and unlabelled loaders together with itertools.cycle. OOM after some fifty iterations, always about the same one."""
import itertools
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

device = "cuda"


class Clips(Dataset):
    """Mel spectrograms of ten seconds."""

    def __init__(self, n, labelled):
        self.n, self.labelled = n, labelled
        self.mel = torch.zeros(128, 1000)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return (self.mel, i % 50) if self.labelled else self.mel


def collate(batch):
    return torch.utils.data.default_convert(torch.stack(batch).to(device))


def forever(loader):
    while True:
        yield from loader


labelled = DataLoader(Clips(640, True), batch_size=32, shuffle=True)
unlabelled = DataLoader(Clips(20000, False), batch_size=32, shuffle=True, collate_fn=collate)
endless = forever if os.environ.get("CURED") else itertools.cycle

model = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 50)).to(device)
opt = torch.optim.AdamW(model.parameters())
pairs = zip(endless(labelled), endless(unlabelled))
for it, ((x, y), u) in enumerate(pairs):
    x, y = x.to(device), y.to(device)
    sup = F.cross_entropy(model(x.transpose(1, 2)).mean(1), y)
    p = model(u.transpose(1, 2)).mean(1)
    loss = sup + 0.1 * F.mse_loss(p, p.detach().softmax(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print("iteration", it, flush=True)
    if it == 110:
        break
