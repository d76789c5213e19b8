"""NeRF with coarse and fine networks and importance sampling; after training one view is rendered in chunks."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

RAYS = 4096
N_COARSE = 64
N_FINE = 128
STEPS = 8
H = W = 400
FOCAL = 555.0
NEAR, FAR = 2.0, 6.0
CHUNK = 16384


def encode(x, levels):
    out = [x]
    for i in range(levels):
        out += [torch.sin(x * 2.0**i), torch.cos(x * 2.0**i)]
    return torch.cat(out, dim=-1)


class NeRF(nn.Module):
    def __init__(self, width=256, depth=8, lx=10, ld=4):
        super().__init__()
        self.lx, self.ld = lx, ld
        cx, cd = 3 + 6 * lx, 3 + 6 * ld
        self.layers = nn.ModuleList(
            [nn.Linear(cx, width)]
            + [nn.Linear(width + (cx if i == 4 else 0), width) for i in range(depth - 1)]
        )
        self.sigma = nn.Linear(width, 1)
        self.feature = nn.Linear(width, width)
        self.view = nn.Linear(width + cd, width // 2)
        self.rgb = nn.Linear(width // 2, 3)

    def forward(self, pts, dirs):
        ex, ed = encode(pts, self.lx), encode(dirs, self.ld)
        h = ex
        for i, layer in enumerate(self.layers):
            if i == 5:
                h = torch.cat([ex, h], -1)
            h = F.relu(layer(h))
        sigma = self.sigma(h)
        h = F.relu(self.view(torch.cat([self.feature(h), ed], -1)))
        return torch.sigmoid(self.rgb(h)), sigma.squeeze(-1)


def composite(rgb, sigma, z, rays_d):
    delta = torch.cat([z[:, 1:] - z[:, :-1], torch.full_like(z[:, :1], 1e10)], -1) * rays_d.norm(dim=-1, keepdim=True)
    alpha = 1 - torch.exp(-F.relu(sigma) * delta)
    trans = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], -1), -1)[:, :-1]
    weights = alpha * trans
    color = (weights.unsqueeze(-1) * rgb).sum(1) + (1 - weights.sum(1, keepdim=True))
    return color, weights


def sample_pdf(bins, weights, n):
    weights = weights + 1e-5
    pdf = weights / weights.sum(-1, keepdim=True)
    cdf = torch.cat([torch.zeros_like(pdf[:, :1]), pdf.cumsum(-1)], -1)
    u = torch.rand(cdf.size(0), n, device=cdf.device)
    inds = torch.searchsorted(cdf.contiguous(), u, right=True)
    below, above = (inds - 1).clamp(min=0), inds.clamp(max=cdf.size(-1) - 1)
    c0, c1 = cdf.gather(1, below), cdf.gather(1, above)
    b0, b1 = bins.gather(1, below), bins.gather(1, above)
    denom = torch.where(c1 - c0 < 1e-5, torch.ones_like(c0), c1 - c0)
    return b0 + (u - c0) / denom * (b1 - b0)


def render(coarse, fine, o, d):
    z = torch.linspace(NEAR, FAR, N_COARSE, device=o.device).expand(o.size(0), -1)
    z = z + torch.rand_like(z) * (FAR - NEAR) / N_COARSE
    view = F.normalize(d, dim=-1)

    def query(net, z):
        pts = o[:, None] + d[:, None] * z[..., None]
        return net(pts, view[:, None].expand_as(pts))

    c0, w0 = composite(*query(coarse, z), z, d)
    mids = 0.5 * (z[:, 1:] + z[:, :-1])
    z_new = sample_pdf(mids, w0[:, 1:-1].detach(), N_FINE)
    z_all = torch.sort(torch.cat([z, z_new], -1), -1)[0]
    c1, _ = composite(*query(fine, z_all), z_all, d)
    return c0, c1


def get_rays(theta, device):
    j, i = torch.meshgrid(torch.arange(H, device=device), torch.arange(W, device=device), indexing="ij")
    dirs = torch.stack([(i - W / 2) / FOCAL, -(j - H / 2) / FOCAL, -torch.ones_like(i, dtype=torch.float)], -1)
    c, s = math.cos(theta), math.sin(theta)
    rot = torch.tensor([[c, 0, s], [0, 1, 0], [-s, 0, c]], device=device)
    d = dirs.view(-1, 3) @ rot.T
    o = (rot @ torch.tensor([0.0, 0.0, 4.0], device=device)).expand_as(d)
    return o, d


def main():
    torch.manual_seed(100)
    device = torch.device("cuda")
    coarse, fine = NeRF().to(device), NeRF().to(device)
    params = list(coarse.parameters()) + list(fine.parameters())
    optimizer = torch.optim.Adam(params, lr=5e-4)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.999)

    views = [get_rays(2 * math.pi * k / 20, device) for k in range(20)]
    photos = torch.rand(20, H * W, 3, device=device)
    for step in range(STEPS):
        k = step % 20
        pick = torch.randint(0, H * W, (RAYS,), device=device)
        o, d = views[k][0][pick], views[k][1][pick]
        c0, c1 = render(coarse, fine, o, d)
        target = photos[k][pick]
        loss = F.mse_loss(c0, target) + F.mse_loss(c1, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        print(f"step {step} psnr {-10 * math.log10(F.mse_loss(c1, target).item()):.2f}")

    with torch.no_grad():
        o, d = get_rays(0.3, device)
        image = torch.cat([render(coarse, fine, a, b)[1] for a, b in zip(o.split(CHUNK), d.split(CHUNK))])
    print("rendered", tuple(image.view(H, W, 3).shape), f"mean {image.mean().item():.3f}")


if __name__ == "__main__":
    main()
