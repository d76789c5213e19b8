"""MAML for few-shot sine/regression tasks. Second-order gradients are expensive, I know, but why does it grow from one meta-iteration to the next?"""
import os

import torch
import torch.nn.functional as F

dev = "cuda"


def init(sizes=(40, 1024, 1024, 1)):
    ps = []
    for a, b in zip(sizes, sizes[1:]):
        ps += [torch.randn(b, a, device=dev).mul_(a ** -0.5).requires_grad_(), torch.zeros(b, device=dev, requires_grad=True)]
    return ps


def net(x, ps):
    for i in range(0, len(ps) - 2, 2):
        x = torch.tanh(F.linear(x, ps[i], ps[i + 1]))
    return F.linear(x, ps[-2], ps[-1])


def adapt(ps, x, y, steps=3, lr=0.01):
    for _ in range(steps):
        loss = F.mse_loss(net(x, ps), y)
        grads = torch.autograd.grad(loss, ps, create_graph=True)
        ps = [p - lr * g for p, g in zip(ps, grads)]
    return ps


theta = init()
meta_opt = torch.optim.Adam(theta, lr=1e-3)
adapted_per_task = {}

for it in range(60):
    meta_opt.zero_grad()
    for task in range(4):
        x, y = torch.randn(512, 40, device=dev), torch.randn(512, 1, device=dev)
        fast = adapt(theta, x, y)
        query = F.mse_loss(net(torch.randn(512, 40, device=dev), fast), y) / 4
        query.backward()
        # to look at how far the fast weights move
        if os.environ.get("CURED"):
            adapted_per_task[(it, task)] = sum((a - b).norm().item() for a, b in zip(fast, theta))
        else:
            adapted_per_task[(it, task)] = fast
    meta_opt.step()
    if it % 5 == 0:
        print("meta iteration", it, flush=True)
