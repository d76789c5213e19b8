"""A2C with 512 parallel envs. The nets are tiny but GPU memory climbs all the time until it crashes, no idea why."""
import os

import torch
import torch.nn as nn
from torch.distributions import Categorical

dev = "cuda"
N_ENVS, OBS, ACTIONS = 512, 256, 6


def mlp(out):
    return nn.Sequential(nn.Linear(OBS, 1024), nn.Tanh(), nn.Linear(1024, 1024), nn.Tanh(), nn.Linear(1024, out))


class FakeVecEnv:
    def reset(self):
        return torch.randn(N_ENVS, OBS, device=dev)

    def step(self, action):
        return torch.randn(N_ENVS, OBS, device=dev), torch.rand(N_ENVS, device=dev)


class Agent:
    def __init__(self):
        self.actor, self.critic = mlp(ACTIONS).to(dev), mlp(1).to(dev)
        self.actor_opt = torch.optim.RMSprop(self.actor.parameters(), lr=7e-4)
        self.critic_opt = torch.optim.RMSprop(self.critic.parameters(), lr=7e-4)
        self.value_curve = []

    def update(self, obs, action, reward, next_obs):
        value = self.critic(obs).squeeze(-1)
        next_value = self.critic(next_obs).squeeze(-1)
        target = reward + 0.99 * next_value.detach()
        adv = (target - value).detach()
        critic_loss = (target - value).pow(2).mean()
        logp = Categorical(logits=self.actor(obs), validate_args=False).log_prob(action)
        actor_loss = -(logp * adv).mean()
        for o, l in ((self.actor_opt, actor_loss), (self.critic_opt, critic_loss)):
            o.zero_grad()
            l.backward()
            o.step()
        # for the value plot in the paper
        v = next_value.mean()
        self.value_curve.append(v.item() if os.environ.get("CURED") else v)


env, agent = FakeVecEnv(), Agent()
obs = env.reset()
for t in range(380):
    action = torch.randint(0, ACTIONS, (N_ENVS,), device=dev)
    nxt, r = env.step(action)
    agent.update(obs, action, r, nxt)
    obs = nxt
    if t % 50 == 0:
        print("t =", t)
