"""Embedding service that picks its own batch size: on out of memory it splits the batch recursively. Odd: 3000 documents in one go fail, and then 1500, 750, 375... fail, too."""
import os

import torch
import torch.nn as nn


class Embedder(nn.Module):
    def __init__(self, dim=512, layers=6):
        super().__init__()
        self.table = nn.Embedding(20_000, dim)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)) for _ in range(layers))

    def forward(self, ids):
        x = self.table(ids)
        hidden = []
        for block in self.blocks:
            x = x + block(x)
            hidden.append(x)
        return torch.stack(hidden).mean(0).mean(1)


def embed(model, ids):
    if os.environ.get("CURED"):
        result = None
        try:
            result = model(ids)
        except torch.OutOfMemoryError:
            pass
        if result is None:
            result = torch.cat([embed(model, part) for part in ids.chunk(2)])
        return result
    try:
        return model(ids)
    except torch.OutOfMemoryError:
        if len(ids) < 300:
            raise
        print("too large:", len(ids), flush=True)
        torch.cuda.empty_cache()
        return torch.cat([embed(model, part) for part in ids.chunk(2)])


@torch.no_grad()
def main():
    model = Embedder().cuda().eval()
    for documents in [200, 600, 800, 3000, 600]:
        ids = torch.randint(0, 20_000, (documents, 128), device="cuda")
        print(documents, tuple(embed(model, ids).shape), flush=True)


main()
