"""Differentially private training needs the gradient of each example. The network has only 3.5M parameters but 256 examples are too many."""
import os

import torch
import torch.nn as nn
from torch.func import functional_call, grad, vmap

model = nn.Sequential(nn.Linear(784, 1280), nn.Tanh(), nn.Linear(1280, 1280), nn.Tanh(), nn.Linear(1280, 640), nn.Tanh(), nn.Linear(640, 10)).cuda()
params = {k: v.detach() for k, v in model.named_parameters()}


def loss_of_one(p, x, y):
    logits = functional_call(model, p, (x[None],))
    return nn.functional.cross_entropy(logits, y[None])


per_sample = vmap(grad(loss_of_one), in_dims=(None, 0, 0))


def clipped_sum(x, y, bound=1.0):
    g = per_sample(params, x, y)
    norm = torch.stack([v.flatten(1).norm(dim=1) for v in g.values()]).norm(dim=0)
    scale = (bound / (norm + 1e-6)).clamp(max=1)
    return {k: torch.einsum("b,b...->...", scale, v) for k, v in g.items()}


def private_gradient(x, y):
    if not os.environ.get("CURED"):
        return clipped_sum(x, y)
    total = None
    for xs, ys in zip(x.split(16), y.split(16)):
        part = clipped_sum(xs, ys)
        total = part if total is None else {k: total[k] + part[k] for k in part}
    return total


for step in range(10):
    x, y = torch.rand(256, 784, device="cuda"), torch.randint(0, 10, (256,), device="cuda")
    total = private_gradient(x, y)
    for k in params:
        noise = torch.randn_like(params[k])
        params[k] -= 0.1 * (total[k] + noise) / 256
    print("step", step, flush=True)
