"""Predicting house prices from a table, a network with 50 neurons. It says it tried to allocate 9 GiB in the loss function??"""
import os

import torch
import torch.nn as nn

rows = 48_000
features = torch.rand(rows, 14).to("cuda")
price = torch.rand(rows).to("cuda")

model = nn.Sequential(nn.Linear(14, 50), nn.ReLU(), nn.Linear(50, 1)).to("cuda")
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def mse(prediction, truth):
    return ((prediction - truth) ** 2).mean()


for epoch in range(200):
    prediction = model(features)
    if os.environ.get("CURED"):
        prediction = prediction.squeeze(1)
    loss = mse(prediction, price)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("final", loss.item())
