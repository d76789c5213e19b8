"""Double DQN on a made-up 84x84 game with many environments and a uint8 replay buffer on the GPU."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

ACTIONS = 6
ENVS = 128
CAPACITY = 1024  # steps kept for each environment
BATCH = 2048
GAMMA = 0.99
device = torch.device("cuda")


class FakeGame:
    """Frames and rewards out of a seeded generator; an episode ends now and then."""

    def __init__(self, seed):
        self.gen = torch.Generator().manual_seed(seed)

    def step(self, actions=None):
        frames = torch.randint(0, 256, (ENVS, 4, 84, 84), dtype=torch.uint8, generator=self.gen)
        rewards = torch.randn(ENVS, generator=self.gen).clamp(-1, 1)
        done = torch.rand(ENVS, generator=self.gen) < 0.01
        return frames, rewards, done


class Replay:
    def __init__(self):
        self.frames = torch.zeros(CAPACITY, ENVS, 4, 84, 84, dtype=torch.uint8, device=device)
        self.actions = torch.zeros(CAPACITY, ENVS, dtype=torch.long, device=device)
        self.rewards = torch.zeros(CAPACITY, ENVS, device=device)
        self.done = torch.zeros(CAPACITY, ENVS, dtype=torch.bool, device=device)
        self.size, self.head = 0, 0

    def add(self, frames, actions, rewards, done):
        i = self.head
        self.frames[i], self.actions[i], self.rewards[i], self.done[i] = frames, actions, rewards, done
        self.head = (i + 1) % CAPACITY
        self.size = min(self.size + 1, CAPACITY)

    def sample(self, n):
        t = torch.randint(0, self.size - 1, (n,), device=device)
        e = torch.randint(0, ENVS, (n,), device=device)
        return self.frames[t, e], self.actions[t, e], self.rewards[t, e], self.frames[t + 1, e], self.done[t, e]


class DuelingNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(4, 64, 8, stride=4), nn.ReLU(), nn.Conv2d(64, 128, 4, stride=2), nn.ReLU(),
            nn.Conv2d(128, 128, 3), nn.ReLU(), nn.Flatten(),
        )
        self.value = nn.Sequential(nn.Linear(128 * 49, 512), nn.ReLU(), nn.Linear(512, 1))
        self.advantage = nn.Sequential(nn.Linear(128 * 49, 512), nn.ReLU(), nn.Linear(512, ACTIONS))

    def forward(self, frames):
        x = self.features(frames.float() / 255)
        a = self.advantage(x)
        return self.value(x) + a - a.mean(1, keepdim=True)


torch.manual_seed(0)
game, replay = FakeGame(seed=4), Replay()
online = DuelingNet().to(device)
target = copy.deepcopy(online).requires_grad_(False)
optimizer = torch.optim.RMSprop(online.parameters(), lr=1e-4, alpha=0.95, eps=1e-5, centered=True)

frames = game.step()[0].to(device)
for step in range(40):
    with torch.no_grad():
        greedy = online(frames).argmax(1)
    explore = torch.rand(ENVS, device=device) < max(0.1, 1 - step / 30)
    actions = torch.where(explore, torch.randint(0, ACTIONS, (ENVS,), device=device), greedy)
    following, rewards, done = (x.to(device) for x in game.step(actions))
    replay.add(frames, actions, rewards, done)
    frames = following
    if step >= 10 and step % 2 == 0:
        s, a, r, s2, d = replay.sample(BATCH)
        with torch.no_grad():
            best = online(s2).argmax(1, keepdim=True)
            goal = r + GAMMA * (~d) * target(s2).gather(1, best).squeeze(1)
        loss = F.smooth_l1_loss(online(s).gather(1, a[:, None]).squeeze(1), goal)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(online.parameters(), 10.0)
        optimizer.step()
    if step >= 10 and step % 10 == 0:
        target.load_state_dict(online.state_dict())
        print(f"step {step} loss {loss.item():.4f}")
