"""Point cloud encoder that can return its intermediate features. I don't even use them in training, but the training does not survive 100 steps."""
import os

import torch
import torch.nn as nn


class PointEncoder(nn.Module):
    def __init__(self, widths=(64, 128, 256, 512)):
        super().__init__()
        dims = [3, *widths]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims, dims[1:]))
        self.cls = nn.Linear(widths[-1], 40)

    def forward(self, points, features=[]):
        if os.environ.get("CURED"):
            features = []
        x = points
        for lin in self.layers:
            x = torch.relu(lin(x))
            features.append(x)
        return self.cls(x.amax(1))

    def with_features(self, points):
        features = []
        return self(points, features), features


enc = PointEncoder().cuda()
optimizer = torch.optim.Adam(enc.parameters(), 1e-3)
for step in range(150):
    clouds = torch.randn(8, 1024, 3, device="cuda")
    labels = torch.randint(0, 40, (8,), device="cuda")
    loss = nn.functional.cross_entropy(enc(clouds), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        print("step", step, loss.item(), flush=True)
