"""Lidar sequences in buckets with the same number of points: few dense sweeps or many thin ones. One bucket trains, both crash."""
import os
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda")
BUCKETS = [(20, 32768), (33, 19860)]  # sweeps, points in each


class SweepEncoder(nn.Module):
    """A PointNet: every point by itself, then the mean over all of them."""

    def __init__(self, width=128, out=256):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(4, width), nn.Linear(width, width), nn.Linear(width, out)

    def forward(self, points):
        x = torch.tanh(self.fc1(points))
        x = torch.tanh(self.fc2(x))
        return self.fc3(x.mean(1))


class SequenceModel(nn.Module):
    def __init__(self, classes=16):
        super().__init__()
        self.encoder, self.head = SweepEncoder(), nn.Linear(256, classes)

    def forward(self, sweeps):
        features = [self.encoder(points) for points in sweeps]
        return self.head(torch.stack(features).mean(0))


def sequences(n):
    random.seed(4)
    for i in range(n):
        sweeps, points = BUCKETS[0] if os.environ.get("CURED") or i < 3 else random.choice(BUCKETS)
        yield [torch.rand(2, points, 4) for _ in range(sweeps)], torch.randint(0, 16, (2,))


def main():
    model = SequenceModel().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step, (sweeps, label) in enumerate(sequences(16)):
        sweeps, label = [points.to(device) for points in sweeps], label.to(device)
        loss = F.cross_entropy(model(sweeps), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("step", step, len(sweeps), tuple(sweeps[0].shape), flush=True)


if __name__ == "__main__":
    main()
