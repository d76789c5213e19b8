"""Fraud model, 500-class multilabel, with torchmetrics. Curves look right for the first epochs, then `torch.OutOfMemoryError` in the middle of an epoch."""
import os

import torch
import torch.nn as nn
from torchmetrics import MeanMetric
from torchmetrics.classification import MultilabelAveragePrecision

device = "cuda"
LABELS = 500


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(120, 512), nn.Mish(), nn.Dropout(0.2), nn.Linear(512, LABELS))

    def forward(self, x):
        return self.f(x)


net = Net().to(device)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
thresholds = 50 if os.environ.get("CURED") else None
ap = MultilabelAveragePrecision(num_labels=LABELS, thresholds=thresholds, validate_args=False).to(device)
mean_loss = MeanMetric().to(device)

for epoch in range(6):
    for _ in range(40):
        x = torch.randn(512, 120, device=device)
        y = torch.randint(0, 2, (512, LABELS), device=device)
        logits = net(x)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, y.float())
        opt.zero_grad()
        loss.backward()
        opt.step()
        ap.update(torch.sigmoid(logits.detach()), y)
        mean_loss.update(loss.detach())
    print("epoch", epoch, "loss", mean_loss.compute().item(), flush=True)
    mean_loss.reset()
