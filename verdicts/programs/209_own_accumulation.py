"""To save memory I switched to gradient accumulation over 8 small batches, and now it needs MORE memory than before and crashes."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = torch.device("cuda:0")
ACCUMULATE = 8


class Captioner(nn.Module):
    def __init__(self, dim=1024, words=12000):
        super().__init__()
        self.visual = nn.Linear(2048, dim)
        self.words = nn.Embedding(words, dim)
        self.mix = nn.Sequential(nn.Linear(dim, 4 * dim), nn.ReLU(), nn.Linear(4 * dim, dim),
                                 nn.Linear(dim, 8 * dim), nn.ReLU(), nn.Linear(8 * dim, dim),
                                 nn.Linear(dim, 8 * dim), nn.ReLU(), nn.Linear(8 * dim, dim))
        self.out = nn.Linear(dim, words)

    def forward(self, regions, words):
        seen = self.visual(regions).mean(1, keepdim=True)
        return self.out(self.mix(self.words(words) + seen))


def main():
    with DEVICE:
        model = Captioner()
    params = list(model.parameters())
    optimizer = torch.optim.Adam(params, lr=1e-4, foreach=False)
    own = not os.environ.get("CURED")
    if own:
        sums = [torch.zeros_like(p) for p in params]
        average = [torch.zeros_like(p) for p in params]
    for step in range(32):
        regions = torch.randn(8, 36, 2048, device=DEVICE)
        words = torch.randint(0, 12000, (8, 12), device=DEVICE)
        loss = F.cross_entropy(model(regions, words).flatten(0, 1), words.flatten()) / ACCUMULATE
        loss.backward()
        if own:
            for s, p in zip(sums, params):
                s += p.grad
                p.grad = None
        if (step + 1) % ACCUMULATE == 0:
            if own:
                for s, a, p in zip(sums, average, params):
                    a.copy_(s).div_(ACCUMULATE)
                    p.grad = a
                    s.zero_()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            print("update after", step + 1, flush=True)


main()
