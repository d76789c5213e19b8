"""Dense contrastive pretraining with a queue of negatives. The paper does it on 8 GB; here even that is used up in one epoch."""
import copy
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

device = "cuda"
QUEUE = 20000


def encoder(dim=128):
    return nn.Sequential(nn.Conv2d(3, 64, 7, 4, 3), nn.ReLU(), nn.Conv2d(64, 128, 3, 2, 1), nn.ReLU(), nn.Conv2d(128, dim, 1))


def pixels(features):
    return F.normalize(features.flatten(2).transpose(1, 2).reshape(-1, features.shape[1]), dim=1)


class DenseMoCo(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = encoder()
        self.k = copy.deepcopy(self.q).requires_grad_(False)
        self.queue = torch.zeros(0, 128, device=device)

    @torch.no_grad()
    def enqueue(self, keys):
        self.queue = torch.cat([self.queue, keys])
        if os.environ.get("CURED"):
            self.queue = self.queue[-QUEUE:]

    def forward(self, view1, view2):
        query = pixels(self.q(view1))
        with torch.no_grad():
            keys = pixels(self.k(view2))
        loss = 1 - (query * keys).sum(1).mean()
        if len(self.queue):
            negatives = self.queue[torch.randint(len(self.queue), (1024,), device=device)]
            loss = loss + (query @ negatives.T / 0.2).logsumexp(1).mean()
        self.enqueue(keys)
        return loss


model = DenseMoCo().to(device)
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.03, momentum=0.9)
for step in range(200):
    view1, view2 = torch.rand(16, 3, 224, 224).to(device), torch.rand(16, 3, 224, 224).to(device)
    loss = model(view1, view2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print("step", step, "queue", len(model.queue), flush=True)
