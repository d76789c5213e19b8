"""Alternating training of a world model and a policy. Each phase alone has lots of room, alternating them does not fit although only one trains at a time."""
import os

import torch
import torch.nn as nn

NONE = bool(os.environ.get("CURED"))


def mlp(i, h, o, depth):
    return nn.Sequential(nn.Linear(i, h), nn.ELU(), *[m for _ in range(depth) for m in (nn.Linear(h, h), nn.ELU())], nn.Linear(h, o))


class Part:
    def __init__(self, net, lr):
        self.net = net
        self.optimizer = torch.optim.SGD(net.parameters(), lr=lr)

    def fit(self, x, y):
        loss = (self.net(x) - y).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=NONE)
        return loss.item()


with torch.device("cuda"):
    world = Part(mlp(512, 4096, 512, 8), 1e-3)
    policy = Part(mlp(512, 4096, 64, 8), 1e-3)
    critic = Part(mlp(512, 4096, 1, 8), 1e-3)


for cycle in range(6):
    state = torch.randn(2000 if cycle % 2 else 1000, 512, device="cuda")
    print("world", world.fit(state, state), flush=True)
    print("policy", policy.fit(state, torch.randn(len(state), 64, device="cuda")), flush=True)
    print("critic", critic.fit(state, torch.randn(len(state), 1, device="cuda")), flush=True)
