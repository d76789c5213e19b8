"""PINN for the heat equation with an L-BFGS I wrote myself after the textbook. The network is small; memory is gone after about 60 iterations."""
import os

import torch
import torch.nn as nn

dev = torch.device("cuda")


class TwoLoop:
    def __init__(self, params, lr=0.5, memory=10):
        self.params, self.lr, self.memory = list(params), lr, memory
        self.s, self.y, self.last = [], [], None

    def flat(self, grads=False):
        return torch.cat([(p.grad if grads else p).detach().reshape(-1) for p in self.params])

    @torch.no_grad()
    def step(self):
        x, g = self.flat(), self.flat(grads=True)
        if self.last is not None:
            self.s.append(x - self.last[0])
            self.y.append(g - self.last[1])
            if os.environ.get("CURED") and len(self.s) > self.memory:
                self.s.pop(0), self.y.pop(0)
        self.last = (x, g)
        q, alphas = g.clone(), []
        for s, y in list(zip(self.s, self.y))[::-1][: self.memory]:
            alphas.append(s.dot(q) / y.dot(s))
            q = q - alphas[-1] * y
        for (s, y), a in zip(list(zip(self.s, self.y))[-self.memory:], alphas[::-1]):
            q = q + s * (a - y.dot(q) / y.dot(s))
        i = 0
        for p in self.params:
            p.sub_(q[i : i + p.numel()].view_as(p), alpha=self.lr)
            i += p.numel()


net = nn.Sequential(nn.Linear(2, 1024), nn.Tanh(), nn.Linear(1024, 1024), nn.Tanh(), nn.Linear(1024, 1024), nn.Tanh(), nn.Linear(1024, 1)).to(dev)
opt = TwoLoop(net.parameters())
for k in range(90):
    xt = torch.rand(500, 2, device=dev, requires_grad=True)
    u = net(xt)
    du = torch.autograd.grad(u.sum(), xt, create_graph=True)[0]
    d2 = torch.autograd.grad(du[:, 0].sum(), xt, create_graph=True)[0][:, 0]
    edge = net(torch.rand(200, 2, device=dev))
    loss = (du[:, 1] - 0.1 * d2).square().mean() + edge.square().mean()
    net.zero_grad()
    loss.backward()
    opt.step()
    if k % 10 == 0:
        print("iter", k, flush=True)
