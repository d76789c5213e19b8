"""DQN on stacked frames. Worked without a target network, with it the program does not survive the setup."""
import copy
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

dev = torch.device("cuda")


class Agent(nn.Module):
    """The Q network together with its experience."""

    def __init__(self, capacity=60_000, actions=6):
        super().__init__()
        self.q = nn.Sequential(nn.Linear(4 * 84 * 84, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, actions))
        self.register_buffer("frames", torch.zeros(capacity, 84 * 84 * 4, dtype=torch.uint8, device=dev), persistent=False)
        self.register_buffer("reward", torch.zeros(capacity, device=dev), persistent=False)
        self.register_buffer("action", torch.zeros(capacity, dtype=torch.long, device=dev), persistent=False)
        self.capacity = capacity

    def sample(self, n):
        i = torch.randint(0, self.capacity - 1, (n,), device=dev)
        return self.frames[i].float() / 255, self.action[i], self.reward[i], self.frames[i + 1].float() / 255


agent = Agent().to(dev)
if os.environ.get("CURED"):
    target_q = copy.deepcopy(agent.q)
else:
    target = copy.deepcopy(agent)
    target_q = target.q
optimizer = torch.optim.RMSprop(agent.q.parameters(), lr=2.5e-4)

for step in range(120):
    s, a, r, s2 = agent.sample(256)
    with torch.no_grad():
        y = r + 0.99 * target_q(s2).amax(1)
    q = agent.q(s).gather(1, a[:, None]).squeeze(1)
    loss = F.smooth_l1_loss(q, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        target_q.load_state_dict(agent.q.state_dict())
        print("update", step, loss.item(), flush=True)
