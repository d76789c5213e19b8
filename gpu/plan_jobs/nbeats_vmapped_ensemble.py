"""Deep ensemble of N-BEATS forecasters trained at once with torch.func (stack_module_state, vmap, functional_call)
and torch.optim on the stacked parameters; every member sees its own bootstrap of the windows."""
import copy

import torch
import torch.nn as nn
from torch.func import functional_call, stack_module_state, vmap

MEMBERS = 12
LOOKBACK, HORIZON = 168, 24
WIDTH = 512
STACKS, BLOCKS = 8, 3
BATCH = 1024
STEPS = 6
SERIES, LENGTH = 370, 4000


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        layers, last = [], LOOKBACK
        for _ in range(4):
            layers += [nn.Linear(last, WIDTH), nn.ReLU()]
            last = WIDTH
        self.fc = nn.Sequential(*layers)
        self.backcast = nn.Linear(WIDTH, LOOKBACK)
        self.forecast = nn.Linear(WIDTH, HORIZON)

    def forward(self, x):
        h = self.fc(x)
        return self.backcast(h), self.forecast(h)


class NBeats(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(STACKS * BLOCKS)])

    def forward(self, x):
        forecast = 0.0
        for block in self.blocks:
            back, fore = block(x)
            x = x - back
            forecast = forecast + fore
        return forecast


def windows(series, n):
    """[MEMBERS, n, LOOKBACK] and [MEMBERS, n, HORIZON]"""
    rows = torch.randint(0, SERIES, (MEMBERS, n), device=series.device)
    start = torch.randint(0, LENGTH - LOOKBACK - HORIZON, (MEMBERS, n, 1), device=series.device)
    idx = start + torch.arange(LOOKBACK + HORIZON, device=series.device)
    w = series[rows.unsqueeze(-1), idx]
    scale = w[..., :LOOKBACK].abs().mean(-1, keepdim=True) + 1e-6
    return w[..., :LOOKBACK] / scale, w[..., LOOKBACK:] / scale


def smape(pred, target):
    return (2 * (pred - target).abs() / (pred.abs() + target.abs() + 1e-6)).mean()


def main():
    torch.manual_seed(55)
    device = torch.device("cuda")
    t = torch.arange(LENGTH).float()
    phase = torch.rand(SERIES, 1) * 24
    series = (10 + 5 * torch.sin(2 * torch.pi * (t + phase) / 24) + torch.randn(SERIES, LENGTH)).to(device)

    models = [NBeats().to(device) for _ in range(MEMBERS)]
    params, buffers = stack_module_state(models)
    base = copy.deepcopy(models[0]).to("meta")
    del models

    def member_loss(p, b, x, y):
        return smape(functional_call(base, (p, b), (x,)), y)

    optimizer = torch.optim.Adam(params.values(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[3, 5], gamma=0.5)
    for step in range(STEPS):
        x, y = windows(series, BATCH)
        losses = vmap(member_loss)(params, buffers, x, y)
        optimizer.zero_grad()
        losses.sum().backward()
        optimizer.step()
        scheduler.step()
        print(f"step {step} smape min {losses.min().item():.4f} max {losses.max().item():.4f}")

    with torch.no_grad():
        x, y = windows(series, 4096)
        forward = lambda p, b, inp: functional_call(base, (p, b), (inp,))
        pred = vmap(forward, in_dims=(0, 0, None))(params, buffers, x[0])
        print("ensemble smape", smape(pred.median(0).values, y[0]).item(), "spread", pred.std(0).mean().item())


if __name__ == "__main__":
    main()
