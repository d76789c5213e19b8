"""PPO with the Nature conv net, a synthetic Atari-like environment and a rollout buffer kept on the GPU."""

import torch
import torch.nn as nn
from torch.distributions.categorical import Categorical

num_envs, num_steps, num_minibatches, update_epochs, num_updates = 256, 64, 4, 2, 2
gamma, gae_lambda, clip_coef, ent_coef, vf_coef, max_grad_norm = 0.99, 0.95, 0.1, 0.01, 0.5, 0.5
obs_shape, num_actions, learning_rate = (4, 84, 84), 6, 2.5e-4
batch_size = num_envs * num_steps
minibatch_size = batch_size // num_minibatches


def layer_init(layer, std=2**0.5):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, 0.0)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(
            layer_init(nn.Conv2d(4, 32, 8, stride=4)),
            nn.ReLU(),
            layer_init(nn.Conv2d(32, 64, 4, stride=2)),
            nn.ReLU(),
            layer_init(nn.Conv2d(64, 64, 3, stride=1)),
            nn.ReLU(),
            nn.Flatten(),
            layer_init(nn.Linear(64 * 7 * 7, 512)),
            nn.ReLU(),
        )
        self.actor = layer_init(nn.Linear(512, num_actions), std=0.01)
        self.critic = layer_init(nn.Linear(512, 1), std=1)

    def get_action_and_value(self, x, action=None):
        hidden = self.network(x / 255.0)
        probs = Categorical(logits=self.actor(hidden))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(hidden).flatten()


torch.manual_seed(1)
device = torch.device("cuda")
agent = Agent().to(device)
optimizer = torch.optim.Adam(agent.parameters(), lr=learning_rate, eps=1e-5)
obs = torch.zeros((num_steps, num_envs) + obs_shape, device=device)
actions, logprobs, rewards, dones, values = (torch.zeros((num_steps, num_envs), device=device) for _ in range(5))

for update in range(num_updates):
    optimizer.param_groups[0]["lr"] = (1.0 - update / num_updates) * learning_rate
    for step in range(num_steps):
        obs[step] = torch.randint(0, 256, (num_envs,) + obs_shape, device=device, dtype=torch.uint8)
        with torch.no_grad():
            actions[step], logprobs[step], _, values[step] = agent.get_action_and_value(obs[step])
        rewards[step] = torch.randn(num_envs, device=device).sign()
        dones[step] = (torch.rand(num_envs, device=device) < 0.01).float()

    with torch.no_grad():
        advantages = torch.zeros_like(rewards)
        lastgaelam, next_value = 0, values[-1]
        for t in reversed(range(num_steps)):
            delta = rewards[t] + gamma * next_value * (1.0 - dones[t]) - values[t]
            advantages[t] = lastgaelam = delta + gamma * gae_lambda * (1.0 - dones[t]) * lastgaelam
            next_value = values[t]
        b_returns = (advantages + values).reshape(-1)

    b_obs, b_actions, b_logprobs = obs.reshape((-1,) + obs_shape), actions.reshape(-1), logprobs.reshape(-1)
    b_advantages = advantages.reshape(-1)
    for epoch in range(update_epochs):
        permutation = torch.randperm(batch_size, device=device)
        for start in range(0, batch_size, minibatch_size):
            mb = permutation[start : start + minibatch_size]
            _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_actions[mb].long())
            ratio = (newlogprob - b_logprobs[mb]).exp()
            adv = (b_advantages[mb] - b_advantages[mb].mean()) / (b_advantages[mb].std() + 1e-8)
            pg_loss = torch.max(-adv * ratio, -adv * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)).mean()
            v_loss = 0.5 * ((newvalue - b_returns[mb]) ** 2).mean()
            loss = pg_loss - ent_coef * entropy.mean() + vf_coef * v_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), max_grad_norm)
            optimizer.step()
    print(f"update {update} policy loss {pg_loss.item():.4f} value loss {v_loss.item():.4f}")
