"""Recurrent PPO on pixels. The updates are all the same size, but after some rollouts the card is full."""
import os

import torch
import torch.nn as nn

device = "cuda"
ENVS, HORIZON = 64, 16


class Policy(nn.Module):
    def __init__(self, actions=6, hidden=512):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(3 * 84 * 84, 1024), nn.ReLU(), nn.Linear(1024, hidden))
        self.rnn = nn.GRUCell(hidden, hidden)
        self.actor, self.critic = nn.Linear(hidden, actions), nn.Linear(hidden, 1)

    def forward(self, obs, h):
        h = self.rnn(self.encoder(obs), h)
        return self.actor(h), self.critic(h), h


def env_step():
    return torch.rand(ENVS, 3, 84, 84), torch.rand(ENVS)


policy = Policy().to(device)
optimizer = torch.optim.Adam(policy.parameters(), lr=2.5e-4)
obs, _ = env_step()
h = torch.zeros(ENVS, 512, device=device)

for rollout in range(14):
    h0, seen, actions, rewards = h.detach(), [], [], []
    for t in range(HORIZON):
        logits, value, h = policy(obs.to(device), h)
        if os.environ.get("CURED"):
            h = h.detach()
        seen.append(obs)
        actions.append(torch.zeros(ENVS, dtype=torch.long))  # sampling on the host, omitted here
        obs, reward = env_step()
        rewards.append(reward)

    state, loss = h0, 0.0
    for o, a, r in zip(seen, actions, rewards):
        logits, value, state = policy(o.to(device), state)
        logp = logits.log_softmax(-1).gather(1, a.to(device)[:, None])
        advantage = r.to(device)[:, None] - value
        loss = loss + (advantage.pow(2) - logp * advantage.detach()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("rollout", rollout, flush=True)
