"""Looks for the largest batch that fits. It says that not even 32 fits, but started with 32 directly it trains without trouble."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda")


class Mixer(nn.Module):
    def __init__(self, dim=512, depth=8):
        super().__init__()
        self.patch = nn.Linear(3 * 16 * 16, dim)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
                                    for _ in range(depth))
        self.head = nn.Linear(dim, 100)

    def forward(self, x):
        x = self.patch(F.pixel_unshuffle(x, 16).flatten(2).transpose(1, 2))
        for block in self.blocks:
            x = x + block(x)
        return self.head(x.mean(1))


def one_step(model, optimizer, batch):
    images, labels = torch.rand(batch, 3, 224, 224).to(device), torch.zeros(batch, dtype=torch.long).to(device)
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def find_batch_size(model, optimizer, batch, smallest=32):
    try:
        one_step(model, optimizer, batch)
        return batch
    except torch.OutOfMemoryError:
        if batch <= smallest:
            raise
        print(batch, "does not fit", flush=True)
        torch.cuda.empty_cache()
        return find_batch_size(model, optimizer, batch // 2, smallest)


def find_in_a_loop(model, optimizer, batch, smallest=32):
    while batch >= smallest:
        try:
            one_step(model, optimizer, batch)
            return batch
        except torch.OutOfMemoryError:
            print(batch, "does not fit", flush=True)
        batch //= 2
        torch.cuda.empty_cache()


model = Mixer().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
search = find_in_a_loop if os.environ.get("CURED") else find_batch_size
print("batch size", search(model, optimizer, 256), flush=True)
