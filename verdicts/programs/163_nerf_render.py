"""NeRF: 4096 rays per training step are fine. Rendering a test view in chunks of just 4096 rays, too, dies after some chunks."""
import contextlib
import os

import torch
import torch.nn as nn

dev = torch.device("cuda")


class Field(nn.Module):
    def __init__(self, w=128, freqs=6):
        super().__init__()
        self.freqs = freqs
        self.net = nn.Sequential(nn.Linear(3 + 6 * freqs, w), nn.ReLU(), nn.Linear(w, w), nn.ReLU(), nn.Linear(w, 4))

    def forward(self, x):
        enc = [x] + [f(x * 2 ** k) for k in range(self.freqs) for f in (torch.sin, torch.cos)]
        return self.net(torch.cat(enc, -1))


def render_rays(field, rays, samples=32):
    o, d = rays[..., :3], rays[..., 3:]
    t = torch.linspace(2, 6, samples, device=dev)
    raw = field(o[:, None] + d[:, None] * t[:, None])
    rgb, sigma = raw[..., :3].sigmoid(), raw[..., 3].relu()
    alpha = 1 - torch.exp(-sigma * (t[1] - t[0]))
    trans = torch.cumprod(1 - alpha + 1e-10, -1)
    return ((alpha * trans)[..., None] * rgb).sum(1)


def render_view(field, h=400, w=400, chunk=4096):
    rays = torch.randn(h * w, 6, device=dev)
    rows = []
    for i, part in enumerate(rays.split(chunk)):
        rows.append(render_rays(field, part))
        print("chunk", i, flush=True)
    return torch.cat(rows).view(h, w, 3)


field = Field().to(dev)
opt = torch.optim.Adam(field.parameters(), lr=5e-4)
for step in range(20):
    loss = (render_rays(field, torch.randn(4096, 6, device=dev)) - 0.5).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad() if os.environ.get("CURED") else contextlib.nullcontext():
    image = render_view(field)
print("view", tuple(image.shape))
