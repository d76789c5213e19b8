"""Power demand forecasting. To make training fast I keep the data on the GPU; with all stations instead of one it fails before training."""
import os

import numpy as np
import torch
import torch.nn as nn

HISTORY, AHEAD = 168, 24


def windows(hours, stations=370):
    """Every (history, future) pair of every station, one row a pair."""
    return np.zeros((hours * stations // 24, HISTORY + AHEAD), dtype=np.float32)


class Forecaster(nn.Module):
    def __init__(self, hidden=512):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(HISTORY, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, AHEAD))

    def forward(self, x):
        return self.net(x)


data = torch.from_numpy(windows(hours=10 * 8760 * 3))
if not os.environ.get("CURED"):
    data = data.to("cuda")
print(len(data), "windows on", data.device)

model = Forecaster().to("cuda")
optimizer = torch.optim.NAdam(model.parameters(), lr=1e-3)
for step in range(100):
    rows = torch.randint(0, len(data), (2048,))
    batch = data[rows].to("cuda")
    loss = nn.functional.huber_loss(model(batch[:, :HISTORY]), batch[:, HISTORY:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained", loss.item())
