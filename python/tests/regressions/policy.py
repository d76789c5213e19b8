"""A policy that is trained on what it has seen."""

import torch
from torch import nn

WORLDS = 2048
STEPS = 6

policy = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 8)).to("cuda")
value = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 1)).to("cuda")
optimizer = torch.optim.SGD([*policy.parameters(), *value.parameters()], lr=0.01)
state = torch.zeros(WORLDS, 64, device="cuda")


def act(state):
    with torch.no_grad():
        logits = policy(state)
        moves = logits.softmax(-1)
    return moves


def collect(state):
    states = torch.empty(STEPS, WORLDS, 64, device="cuda")
    returns = torch.zeros(STEPS, WORLDS, device="cuda")
    for step in range(STEPS):
        moves = act(state)
        state = state + moves.sum(-1, keepdim=True)
        states[step] = state.detach()
    return states, returns


def learn(states, returns):
    for part, aim in zip(states, returns):
        guess = value(part).squeeze(-1)
        loss = nn.functional.mse_loss(guess, aim) - policy(part).mean()
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(4):
    states, returns = collect(state)
    learn(states, returns)
