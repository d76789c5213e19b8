"""DQN on Atari-like frames, 32 envs. Card is nearly empty when learning begins, and full a few minutes later."""
import os
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn

Transition = namedtuple("Transition", "state action reward next_state")
device = "cuda"


class ReplayMemory:
    def __init__(self, capacity):
        self.capacity = capacity
        self.memory = deque(maxlen=capacity if os.environ.get("CURED") else None)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, k):
        return Transition(*map(torch.cat, zip(*random.sample(self.memory, k))))


class Q(nn.Module):
    def __init__(self, actions=4):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(4 * 84 * 84, 256), nn.ReLU(), nn.Linear(256, actions))

    def forward(self, s):
        return self.net(s)


policy, target = Q().to(device), Q().to(device)
target.load_state_dict(policy.state_dict())
optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-4, amsgrad=True)
memory = ReplayMemory(40)
state = torch.rand(32, 4, 84, 84, device=device)
for t in range(400):
    with torch.no_grad():
        action = policy(state).argmax(1, keepdim=True)
    next_state = torch.rand(32, 4, 84, 84, device=device)
    memory.push(state, action, torch.rand(32, device=device), next_state)
    state = next_state
    if len(memory.memory) < 8:
        continue
    batch = memory.sample(4)
    with torch.no_grad():
        y = batch.reward + 0.99 * target(batch.next_state).max(1).values
    q = policy(batch.state).gather(1, batch.action).squeeze(1)
    loss = nn.functional.smooth_l1_loss(q, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if t % 50 == 0:
        print("frame", t, "stored", len(memory.memory))
