"""I wanted to find vanishing gradients in my forecasting MLP with backward hooks. Script dies with OOM after some 60 updates, batch size hardly matters?"""
import os

import torch
import torch.nn as nn

torch.manual_seed(0)
D = "cuda"
LOOKBACK, HORIZON, W = 336, 96, 1024


class Forecaster(nn.Module):
    def __init__(self, depth=5):
        super().__init__()
        self.inp = nn.Linear(LOOKBACK, W)
        self.hidden = nn.ModuleList([nn.Linear(W, W) for _ in range(depth)])
        self.out = nn.Linear(W, HORIZON)

    def forward(self, x):
        x = self.inp(x).relu()
        for lin in self.hidden:
            x = x + lin(x).relu()
        return self.out(x)


class GradWatcher:
    """Collects what flows back through every hidden layer."""

    def __init__(self, model):
        self.flow = {}
        for i, lin in enumerate(model.hidden):
            self.flow[i] = []
            lin.register_full_backward_hook(self.make(i))

    def make(self, i):
        def hook(module, grad_in, grad_out):
            if os.environ.get("CURED"):
                self.flow[i].append(grad_out[0].norm().item())
            else:
                self.flow[i].append(grad_out[0])
        return hook

    def summary(self):
        return [float(torch.as_tensor(v[-1]).norm()) for v in self.flow.values()]


model = Forecaster().to(D)
watch = GradWatcher(model)
optim = torch.optim.NAdam(model.parameters(), lr=1e-3)
for epoch in range(5):
    for b in range(30):
        x, y = torch.randn(1024, LOOKBACK, device=D), torch.randn(1024, HORIZON, device=D)
        optim.zero_grad()
        nn.functional.huber_loss(model(x), y).backward()
        optim.step()
    print("epoch", epoch, watch.summary(), flush=True)
