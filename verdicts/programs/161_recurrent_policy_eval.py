"""Recurrent policy: training uses 32-step segments and works. The evaluation episodes have 1000 steps and run out of memory, with no loss and no backward anywhere."""
import os

import torch
import torch.nn as nn

device = "cuda"
ENVS = 256


class RecurrentPolicy(nn.Module):
    def __init__(self, obs=64, hid=256, actions=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(obs, hid), nn.ReLU())
        self.rnn = nn.GRUCell(hid, hid)
        self.pi = nn.Linear(hid, actions)

    def act(self, obs, h):
        h = self.rnn(self.enc(obs), h)
        return self.pi(h), h

    def start(self):
        return torch.zeros(ENVS, 256, device=device)


def train_segment(policy, opt, length=32):
    h, loss = policy.start(), 0
    for _ in range(length):
        logits, h = policy.act(torch.randn(ENVS, 64, device=device), h)
        loss = loss + logits.logsumexp(-1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()


def evaluate(policy, steps=1000):
    policy.eval()
    h, ret = policy.start(), 0.0
    for t in range(steps):
        obs = torch.randn(ENVS, 64, device=device)
        logits, h = policy.act(obs, h)
        action = logits.argmax(-1)
        ret += float((action == 0).float().mean())
        if t % 100 == 0:
            print("  eval step", t, flush=True)
    policy.train()
    return ret


policy = RecurrentPolicy().to(device)
opt = torch.optim.Adam(policy.parameters(), lr=2.5e-4)
if os.environ.get("CURED"):
    evaluate = torch.no_grad()(evaluate)
for update in range(4):
    train_segment(policy, opt)
print("return", evaluate(policy))
