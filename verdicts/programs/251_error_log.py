"""Hyper-parameter sweep. Trials that do not fit are supposed to be skipped and noted down. After the first such trial also the small ones, which worked before, run out of memory."""
import os

import torch
import torch.nn as nn

failures = []


def trial(width, depth, batch):
    layers = [nn.Linear(256, width), nn.ReLU()]
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(width, 1)).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(batch, 256, device="cuda")
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def sweep(settings):
    best = None
    for s in settings:
        try:
            score = trial(**s)
        except torch.OutOfMemoryError as error:
            failures.append((s, str(error)) if os.environ.get("CURED") else (s, error))
            print("skipped", s, flush=True)
            if len(failures) > 2:
                raise RuntimeError("too many failures") from error
            continue
        print("ok", s, score, flush=True)
        best = min(best or score, score)
    return best


small = dict(width=1024, depth=6, batch=20_000)
large = dict(width=2048, depth=10, batch=60_000)
print("best", sweep([small, small, large, small, small, small]))
print(len(failures), "trials skipped")
