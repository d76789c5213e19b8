"""Home-made metrics logger (like TensorBoard, writes at the end of training). OOM in the middle of the run, at a different step when I log more things."""
import json
import os
from pathlib import Path

import torch
import torch.nn as nn


class RunLogger:
    def __init__(self, folder):
        self.path = Path(folder) / "events.json"
        self.events = []

    def scalar(self, tag, value, step):
        self.events.append((step, tag, float(value)))

    def histogram(self, tag, values, step):
        if os.environ.get("CURED"):
            values = values.detach().float().histc(64).cpu()
        self.events.append((step, tag, values))

    def close(self):
        rows = [(s, t, v if isinstance(v, float) else v.float().mean().item()) for s, t, v in self.events]
        self.path.write_text(json.dumps(rows))


class VAE(nn.Module):
    def __init__(self, x=784, h=512, z=256):
        super().__init__()
        self.enc, self.mu, self.logvar = nn.Sequential(nn.Linear(x, h), nn.ReLU()), nn.Linear(h, z), nn.Linear(h, z)
        self.dec = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, x))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar, z


log = RunLogger(".")
vae = VAE().cuda()
opt = torch.optim.Adam(vae.parameters(), lr=1e-3)
for step in range(320):
    x = torch.rand(2048, 784, device="cuda")
    rec, mu, logvar, z = vae(x)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    loss = nn.functional.binary_cross_entropy_with_logits(rec, x) + 1e-3 * kl
    opt.zero_grad()
    loss.backward()
    opt.step()
    log.scalar("loss", loss, step)
    log.histogram("mu", mu, step)
    log.histogram("z", z.detach(), step)
    if step % 60 == 0:
        print(step, len(log.events), flush=True)
log.close()
