"""PPO, 1024 environments in a GPU simulator, 256 steps per rollout. CUDA OOM while collecting the rollout, never in the update."""
import contextlib
import os

import torch
import torch.nn as nn
from torch.distributions import Normal

dev = torch.device("cuda")


class ActorCritic(nn.Module):
    def __init__(self, obs=48, act=12, w=256):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, w), nn.ELU(), nn.Linear(w, w), nn.ELU(), nn.Linear(w, w), nn.ELU())
        self.mu, self.v = nn.Linear(w, act), nn.Linear(w, 1)
        self.log_std = nn.Parameter(torch.zeros(act))

    def forward(self, obs):
        h = self.body(obs)
        return Normal(self.mu(h), self.log_std.exp(), validate_args=False), self.v(h).squeeze(-1)


def collect(policy, steps, envs=1024):
    keep = {k: [] for k in ("obs", "act", "logp", "val", "rew")}
    obs = torch.randn(envs, 48, device=dev)
    guard = torch.no_grad() if os.environ.get("CURED") else contextlib.nullcontext()
    with guard:
        for t in range(steps):
            dist, value = policy(obs)
            action = (dist.mean + dist.stddev * torch.randn_like(dist.mean)).detach()
            for k, v in zip(keep, (obs, action, dist.log_prob(action).sum(-1), value, torch.rand(envs, device=dev))):
                keep[k].append(v)
            obs = torch.randn(envs, 48, device=dev)
            if t % 50 == 0:
                print("  rollout step", t, flush=True)
    return {k: torch.stack(v) for k, v in keep.items()}


policy = ActorCritic().to(dev)
opt = torch.optim.Adam(policy.parameters(), lr=3e-4)
for it in range(2):
    roll = collect(policy, 256 * 2)
    adv = (roll["rew"] - roll["val"]).detach()
    for chunk in range(4):
        idx = torch.randint(0, 512, (16,), device=dev)
        dist, value = policy(roll["obs"][idx])
        ratio = (dist.log_prob(roll["act"][idx]).sum(-1) - roll["logp"][idx].detach()).exp()
        loss = -(ratio * adv[idx]).mean() + (value - roll["rew"][idx]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("iteration", it, flush=True)
