"""Fit an image with differentiable 2D Gaussians and alpha compositing; the set is split and pruned on the way,
so parameters and optimizer state grow."""
import math

import torch
import torch.nn.functional as F

SIZE = 256
START = 900
GROW = 450
ROUNDS = 4
ITERS = 6


def target_image(device):
    g = torch.Generator(device="cpu").manual_seed(4)
    base = torch.rand(1, 3, 16, 16, generator=g)
    fine = torch.rand(1, 3, 64, 64, generator=g)
    image = F.interpolate(base, (SIZE, SIZE), mode="bicubic") + 0.2 * F.interpolate(fine, (SIZE, SIZE), mode="bilinear")
    return image[0].clamp(0, 1).to(device)


def init(n, device):
    return {
        "xy": torch.rand(n, 2, device=device) * 2 - 1,
        "log_scale": torch.full((n, 2), math.log(0.06), device=device) + 0.2 * torch.randn(n, 2, device=device),
        "theta": torch.rand(n, device=device) * math.pi,
        "color": torch.randn(n, 3, device=device),
        "opacity": torch.zeros(n, device=device),
        "depth": torch.rand(n, device=device),
    }


LRS = {"xy": 1e-3, "log_scale": 5e-3, "theta": 1e-2, "color": 2e-2, "opacity": 3e-2, "depth": 1e-3}


def make_optimizer(params):
    return torch.optim.Adam([{"params": [p], "lr": LRS[k], "name": k} for k, p in params.items()], eps=1e-15)


def render(params, grid):
    order = params["depth"].detach().argsort()
    xy, log_scale, theta = params["xy"][order], params["log_scale"][order], params["theta"][order]
    color, opacity = params["color"][order].sigmoid(), params["opacity"][order].sigmoid()
    d = grid[None] - xy[:, None]
    c, s = theta.cos()[:, None], theta.sin()[:, None]
    u = (c * d[..., 0] + s * d[..., 1]) / log_scale[:, :1].exp()
    v = (-s * d[..., 0] + c * d[..., 1]) / log_scale[:, 1:].exp()
    alpha = (opacity[:, None] * torch.exp(-0.5 * (u * u + v * v))).clamp(max=0.99)
    trans = torch.cumprod(1 - alpha, dim=0)
    trans = torch.cat([torch.ones_like(trans[:1]), trans[:-1]], 0)
    weights = alpha * trans
    return torch.einsum("np,nc->cp", weights, color).view(3, SIZE, SIZE)


def ssim(a, b, window=11):
    pad = window // 2
    mu_a, mu_b = F.avg_pool2d(a, window, 1, pad), F.avg_pool2d(b, window, 1, pad)
    va = F.avg_pool2d(a * a, window, 1, pad) - mu_a**2
    vb = F.avg_pool2d(b * b, window, 1, pad) - mu_b**2
    cov = F.avg_pool2d(a * b, window, 1, pad) - mu_a * mu_b
    num = (2 * mu_a * mu_b + 1e-4) * (2 * cov + 9e-4)
    return (num / ((mu_a**2 + mu_b**2 + 1e-4) * (va + vb + 9e-4))).mean()


@torch.no_grad()
def densify(params, optimizer, grad_norm):
    keep = params["opacity"].sigmoid() > 0.01
    split = torch.zeros_like(keep)
    split[grad_norm.topk(min(GROW, len(grad_norm))).indices] = True
    split &= keep
    new = {}
    for k, p in params.items():
        child = p[split].clone()
        if k == "xy":
            child += 0.5 * params["log_scale"][split].exp() * torch.randn_like(child)
        if k == "log_scale":
            child -= math.log(1.6)
        new[k] = torch.cat([p[keep], child]).requires_grad_(True)
    fresh = make_optimizer(new)
    for group in optimizer.param_groups:
        old, k = group["params"][0], group["name"]
        state = optimizer.state[old]
        if not state:
            continue
        n = int(split.sum())
        fresh.state[new[k]] = {
            "step": state["step"],
            **{
                m: torch.cat([state[m][keep], torch.zeros((n,) + old.shape[1:], device=old.device)])
                for m in ("exp_avg", "exp_avg_sq")
            },
        }
    return new, fresh


def main():
    torch.manual_seed(4)
    device = torch.device("cuda")
    target = target_image(device)
    axis = torch.linspace(-1, 1, SIZE, device=device)
    grid = torch.stack(torch.meshgrid(axis, axis, indexing="xy"), -1).view(-1, 2)
    params = {k: v.requires_grad_(True) for k, v in init(START, device).items()}
    optimizer = make_optimizer(params)

    for r in range(ROUNDS):
        accum = torch.zeros(len(params["xy"]), device=device)
        for _ in range(ITERS):
            image = render(params, grid)
            loss = 0.8 * F.l1_loss(image, target) + 0.2 * (1 - ssim(image[None], target[None]))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            accum += params["xy"].grad.norm(dim=-1)
            optimizer.step()
        print(f"round {r} gaussians {len(accum)} loss {loss.item():.4f}")
        if r < ROUNDS - 1:
            params, optimizer = densify(params, optimizer, accum)


if __name__ == "__main__":
    main()
