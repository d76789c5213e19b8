"""A classifier and its training, in the smallest form."""

import torch
from torch import nn

BATCH = 512
WIDTH = 1024


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(256, WIDTH)
        self.second = nn.Linear(WIDTH, WIDTH)
        self.last = nn.Linear(WIDTH, 1000)

    def forward(self, x):
        x = self.first(x)
        x = torch.relu(x)
        x = self.second(x)
        x = torch.relu(x)
        return self.last(x)


model = Net().to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train_step():
    x = torch.ones(BATCH, 256, device="cuda")
    y = torch.zeros(BATCH, dtype=torch.long, device="cuda")
    out = model(x)
    loss = nn.functional.cross_entropy(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for _ in range(4):
    train_step()
