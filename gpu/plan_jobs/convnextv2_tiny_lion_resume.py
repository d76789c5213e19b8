"""ConvNeXt V2 (tiny) written by hand with GRN, trained with a hand-written Lion under bf16 autocast;
the checkpoint is saved halfway, loaded again into a new model and the training goes on."""
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

DEPTHS = (3, 3, 9, 3)
DIMS = (96, 192, 384, 768)
BATCH = 128
SIZE = 224
STEPS = 6


class LayerNorm2d(nn.LayerNorm):
    def forward(self, x):
        return F.layer_norm(x.permute(0, 2, 3, 1), self.normalized_shape, self.weight, self.bias, self.eps).permute(
            0, 3, 1, 2
        )


class GRN(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gamma = nn.Parameter(torch.zeros(1, 1, 1, dim))
        self.beta = nn.Parameter(torch.zeros(1, 1, 1, dim))

    def forward(self, x):
        gx = torch.norm(x, p=2, dim=(1, 2), keepdim=True)
        nx = gx / (gx.mean(dim=-1, keepdim=True) + 1e-6)
        return self.gamma * (x * nx) + self.beta + x


class DropPath(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if self.p == 0.0 or not self.training:
            return x
        keep = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(1 - self.p)
        return x * keep / (1 - self.p)


class Block(nn.Module):
    def __init__(self, dim, drop):
        super().__init__()
        self.dwconv = nn.Conv2d(dim, dim, 7, padding=3, groups=dim)
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.pwconv1 = nn.Linear(dim, 4 * dim)
        self.grn = GRN(4 * dim)
        self.pwconv2 = nn.Linear(4 * dim, dim)
        self.drop_path = DropPath(drop)

    def forward(self, x):
        y = self.dwconv(x).permute(0, 2, 3, 1)
        y = self.pwconv2(self.grn(F.gelu(self.pwconv1(self.norm(y)))))
        return x + self.drop_path(y.permute(0, 3, 1, 2))


class ConvNeXtV2(nn.Module):
    def __init__(self, classes=1000, drop=0.1):
        super().__init__()
        rates = torch.linspace(0, drop, sum(DEPTHS)).tolist()
        stages, i = [], 0
        for s, (depth, dim) in enumerate(zip(DEPTHS, DIMS)):
            if s == 0:
                stages.append(nn.Sequential(nn.Conv2d(3, dim, 4, 4), LayerNorm2d(dim)))
            else:
                stages.append(nn.Sequential(LayerNorm2d(DIMS[s - 1]), nn.Conv2d(DIMS[s - 1], dim, 2, 2)))
            stages.append(nn.Sequential(*[Block(dim, rates[i + j]) for j in range(depth)]))
            i += depth
        self.stages = nn.Sequential(*stages)
        self.norm = nn.LayerNorm(DIMS[-1])
        self.head = nn.Linear(DIMS[-1], classes)

    def forward(self, x):
        return self.head(self.norm(self.stages(x).mean((-2, -1))))


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["exp_avg"] = torch.zeros_like(p)
                m = state["exp_avg"]
                p.mul_(1 - group["lr"] * group["weight_decay"])
                update = m * b1 + p.grad * (1 - b1)
                p.add_(update.sign_(), alpha=-group["lr"])
                m.mul_(b2).add_(p.grad, alpha=1 - b2)


def build(device):
    model = ConvNeXtV2().to(device, memory_format=torch.channels_last)
    return model, Lion(model.parameters(), lr=1e-4, weight_decay=0.5)


def train(model, optimizer, device, first, last):
    model.train()
    for step in range(first, last):
        x = torch.randn(BATCH, 3, SIZE, SIZE).to(device, memory_format=torch.channels_last)
        y = torch.randint(0, 1000, (BATCH,), device=device)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "last.pt")
        model, optimizer = build(device)
        train(model, optimizer, device, 0, STEPS // 2)
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": STEPS // 2}, path)

        checkpoint = torch.load(path, map_location=device)
        model, optimizer = build(device)
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        train(model, optimizer, device, checkpoint["step"], STEPS)


if __name__ == "__main__":
    main()
