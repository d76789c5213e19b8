"""Early stopping that remembers the best weights. The run stops at the second improvement, never at the first. Why would the second copy need more than the first?"""
import copy
import os

import torch
import torch.nn as nn


class Stopper:
    def __init__(self, patience=5):
        self.patience, self.best, self.state, self.bad = patience, float("inf"), None, 0

    def __call__(self, value, model, optimizer):
        if value < self.best:
            self.best, self.bad = value, 0
            if os.environ.get("CURED"):
                self.state = {k: v.cpu() for k, v in model.state_dict().items()}
            else:
                self.state = (copy.deepcopy(model.state_dict()), copy.deepcopy(optimizer.state_dict()))
        else:
            self.bad += 1
        return self.bad > self.patience


def main():
    with torch.device("cuda"):
        model = nn.Sequential(nn.Linear(64, 3000), nn.Tanh(), nn.Linear(3000, 3000), nn.Tanh(), nn.Linear(3000, 3000), nn.Tanh(),
                              nn.Linear(3000, 3000), nn.Tanh(), nn.Linear(3000, 3000), nn.Tanh(), nn.Linear(3000, 8))
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    stopper = Stopper()
    for epoch in range(12):
        for _ in range(8):
            x = torch.randn(256, 64, device="cuda")
            loss = model(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        validation = 1.0 / (1 + epoch)  # steadily better
        if stopper(validation, model, optimizer):
            break
        print("epoch", epoch, validation, torch.cuda.memory_allocated() >> 20, "MiB", flush=True)


main()
