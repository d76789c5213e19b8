"""DreamerV3-like agent: categorical RSSM on 64x64 frames, imagination with a straight-through actor, lambda returns,
slow critic, three optimizers, one replay buffer in host memory."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Independent, Normal, OneHotCategoricalStraightThrough, kl_divergence

BATCH, LENGTH = 32, 64
HORIZON = 15
ACTIONS = 6
DETER, STOCH, CLASSES = 1024, 32, 32
UNITS, DEPTH = 640, 48
UPDATES = 4
FREE_NATS, GAMMA, LAMBDA = 1.0, 0.997, 0.95
FEAT = DETER + STOCH * CLASSES


def mlp(cin, cout, layers=3):
    mods, last = [], cin
    for _ in range(layers):
        mods += [nn.Linear(last, UNITS, bias=False), nn.LayerNorm(UNITS), nn.SiLU()]
        last = UNITS
    return nn.Sequential(*mods, nn.Linear(last, cout))


class ChannelNorm(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm = nn.LayerNorm(c)

    def forward(self, x):
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def encoder():
    mods, c = [], 3
    for i in range(4):
        mods += [nn.Conv2d(c, DEPTH * 2**i, 4, 2, 1, bias=False), ChannelNorm(DEPTH * 2**i), nn.SiLU()]
        c = DEPTH * 2**i
    return nn.Sequential(*mods, nn.Flatten())


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        c = DEPTH * 8
        self.inp = nn.Linear(FEAT, c * 16)
        mods = []
        for i in range(3):
            mods += [nn.ConvTranspose2d(c, c // 2, 4, 2, 1, bias=False), ChannelNorm(c // 2), nn.SiLU()]
            c //= 2
        self.net = nn.Sequential(*mods, nn.ConvTranspose2d(c, 3, 4, 2, 1))

    def forward(self, f):
        return self.net(self.inp(f).view(-1, DEPTH * 8, 4, 4)) + 0.5


class RSSM(nn.Module):
    def __init__(self, embed):
        super().__init__()
        self.inp = nn.Sequential(nn.Linear(STOCH * CLASSES + ACTIONS, UNITS), nn.LayerNorm(UNITS), nn.SiLU())
        self.gru = nn.GRUCell(UNITS, DETER)
        self.prior = mlp(DETER, STOCH * CLASSES, 1)
        self.post = mlp(DETER + embed, STOCH * CLASSES, 1)

    def dist(self, logits):
        logits = logits.view(*logits.shape[:-1], STOCH, CLASSES)
        probs = 0.99 * logits.softmax(-1) + 0.01 / CLASSES
        return Independent(OneHotCategoricalStraightThrough(probs=probs), 1)

    def img_step(self, deter, stoch, action):
        deter = self.gru(self.inp(torch.cat([stoch, action], -1)), deter)
        return deter, self.prior(deter)

    def observe(self, embed, action, first):
        B = embed.size(0)
        deter, stoch = embed.new_zeros(B, DETER), embed.new_zeros(B, STOCH * CLASSES)
        deters, stochs, priors, posts = [], [], [], []
        for t in range(embed.size(1)):
            keep = 1 - first[:, t : t + 1]
            deter, prior = self.img_step(deter * keep, stoch * keep, action[:, t] * keep)
            post = self.post(torch.cat([deter, embed[:, t]], -1))
            stoch = self.dist(post).rsample().flatten(1)
            deters.append(deter), stochs.append(stoch), priors.append(prior), posts.append(post)
        stack = lambda xs: torch.stack(xs, 1)
        return stack(deters), stack(stochs), stack(priors), stack(posts)


def kl_loss(rssm, post, prior):
    d = lambda p, q: kl_divergence(rssm.dist(p), rssm.dist(q)).clamp(min=FREE_NATS).mean()
    return 0.5 * d(post.detach(), prior) + 0.1 * d(post, prior.detach())


def main():
    torch.manual_seed(64)
    device = torch.device("cuda")
    buffer = {
        "image": torch.randint(0, 256, (2000, 3, 64, 64), dtype=torch.uint8),
        "action": F.one_hot(torch.randint(0, ACTIONS, (2000,)), ACTIONS).float(),
        "reward": torch.randn(2000),
        "first": (torch.rand(2000) < 0.01).float(),
    }
    enc, dec = encoder().to(device), Decoder().to(device)
    rssm = RSSM(DEPTH * 8 * 16).to(device)
    reward_head, cont_head = mlp(FEAT, 1).to(device), mlp(FEAT, 1).to(device)
    actor, critic = mlp(FEAT, ACTIONS).to(device), mlp(FEAT, 1).to(device)
    slow = copy.deepcopy(critic).requires_grad_(False)
    world = nn.ModuleList([enc, dec, rssm, reward_head, cont_head])
    opt_w = torch.optim.Adam(world.parameters(), lr=1e-4, eps=1e-8)
    opt_a = torch.optim.Adam(actor.parameters(), lr=3e-5, eps=1e-5)
    opt_c = torch.optim.Adam(critic.parameters(), lr=3e-5, eps=1e-5)

    for update in range(UPDATES):
        start = torch.randint(0, 2000 - LENGTH, (BATCH, 1))
        idx = start + torch.arange(LENGTH)
        batch = {k: v[idx].to(device) for k, v in buffer.items()}
        image = batch["image"].float() / 255

        embed = enc(image.flatten(0, 1) - 0.5).view(BATCH, LENGTH, -1)
        deter, stoch, prior, post = rssm.observe(embed, batch["action"], batch["first"])
        feat = torch.cat([deter, stoch], -1)
        recon = dec(feat.flatten(0, 1)).view_as(image)
        loss_img = ((recon - image) ** 2).sum((2, 3, 4)).mean()
        loss_rew = F.mse_loss(reward_head(feat).squeeze(-1), batch["reward"])
        loss_cont = F.binary_cross_entropy_with_logits(cont_head(feat).squeeze(-1), 1 - batch["first"])
        loss_w = loss_img + loss_rew + loss_cont + kl_loss(rssm, post, prior)
        opt_w.zero_grad()
        loss_w.backward()
        nn.utils.clip_grad_norm_(world.parameters(), 1000.0)
        opt_w.step()

        world.requires_grad_(False)
        d, s = deter.detach().flatten(0, 1), stoch.detach().flatten(0, 1)
        feats, entropies = [torch.cat([d, s], -1)], []
        for _ in range(HORIZON):
            pi = OneHotCategoricalStraightThrough(logits=actor(feats[-1].detach()))
            d, p = rssm.img_step(d, s, pi.rsample())
            s = rssm.dist(p).rsample().flatten(1)
            feats.append(torch.cat([d, s], -1))
            entropies.append(pi.entropy())
        imag = torch.stack(feats)
        reward = reward_head(imag).squeeze(-1)
        disc = GAMMA * torch.sigmoid(cont_head(imag).squeeze(-1))
        critic.requires_grad_(False)
        value = critic(imag).squeeze(-1)
        returns = [value[-1]]
        for t in reversed(range(HORIZON)):
            returns.append(reward[t + 1] + disc[t + 1] * ((1 - LAMBDA) * value[t + 1] + LAMBDA * returns[-1]))
        returns = torch.stack(returns[:0:-1])
        weight = torch.cumprod(torch.cat([torch.ones_like(disc[:1]), disc[:-1]]), 0)[:-1].detach()
        loss_a = -(weight * (returns + 3e-4 * torch.stack(entropies))).mean()
        opt_a.zero_grad()
        loss_a.backward()
        nn.utils.clip_grad_norm_(actor.parameters(), 100.0)
        opt_a.step()
        critic.requires_grad_(True)
        world.requires_grad_(True)

        pred = Normal(critic(imag[:-1].detach()).squeeze(-1), 1.0)
        with torch.no_grad():
            target = slow(imag[:-1]).squeeze(-1)
        loss_c = -(weight * (pred.log_prob(returns.detach()) + pred.log_prob(target))).mean()
        opt_c.zero_grad()
        loss_c.backward()
        nn.utils.clip_grad_norm_(critic.parameters(), 100.0)
        opt_c.step()
        with torch.no_grad():
            for a, b in zip(slow.parameters(), critic.parameters()):
                a.lerp_(b, 0.02)
        print(f"update {update} model {loss_w.item():.1f} actor {loss_a.item():.3f} critic {loss_c.item():.3f}")


if __name__ == "__main__":
    main()
