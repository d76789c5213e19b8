"""Training with accelerate (one GPU for the moment). Gathering predictions for the train accuracy makes it run out of memory at some point in the run."""
import os

import torch
import torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator()


class Matcher(nn.Module):
    """Entity matching: scores a mention against all 8192 entities."""

    def __init__(self, entities=8192, d=256):
        super().__init__()
        self.mention = nn.Sequential(nn.Linear(300, d), nn.GELU(), nn.Linear(d, d))
        self.entity = nn.Embedding(entities, d)

    def forward(self, x):
        return self.mention(x) @ self.entity.weight.T


data = TensorDataset(torch.randn(10240, 300), torch.zeros(10240, dtype=torch.long))
model = Matcher()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
model, opt, loader = accelerator.prepare(model, opt, DataLoader(data, batch_size=256, shuffle=True))

all_preds, all_labels = [], []
for epoch in range(6):
    for x, y in loader:
        scores = model(x)
        loss = nn.functional.cross_entropy(scores, y)
        accelerator.backward(loss)
        opt.step()
        opt.zero_grad()
        preds, labels = accelerator.gather_for_metrics((scores.detach(), y))
        if os.environ.get("CURED"):
            preds, labels = preds.argmax(-1).cpu(), labels.cpu()
        all_preds.append(preds)
        all_labels.append(labels)
    accelerator.print("epoch", epoch, "stored", len(all_preds))
