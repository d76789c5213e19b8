"""DP-SGD on a CIFAR sized residual net with per-sample gradients from torch.func (vmap of grad)."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad_and_value, vmap

BATCH_SIZE = 256
STEPS = 4
MAX_GRAD_NORM = 1.0
NOISE_MULTIPLIER = 0.8


class BasicBlock(nn.Module):
    def __init__(self, in_ch, out_ch, stride):
        super().__init__()
        self.norm1 = nn.GroupNorm(16, in_ch)
        self.conv1 = nn.Conv2d(in_ch, out_ch, 3, stride, 1, bias=False)
        self.norm2 = nn.GroupNorm(16, out_ch)
        self.conv2 = nn.Conv2d(out_ch, out_ch, 3, 1, 1, bias=False)
        self.shortcut = nn.Conv2d(in_ch, out_ch, 1, stride, bias=False) if in_ch != out_ch else nn.Identity()

    def forward(self, x):
        out = F.relu(self.norm1(x))
        shortcut = self.shortcut(out)
        out = self.conv1(out)
        out = self.conv2(F.relu(self.norm2(out)))
        return out + shortcut


class WideResNet(nn.Module):
    def __init__(self, depth=16, width=4, num_classes=10):
        super().__init__()
        n = (depth - 4) // 6
        layers, in_ch = [nn.Conv2d(3, 16, 3, 1, 1, bias=False)], 16
        for i, ch in enumerate([16 * width, 32 * width, 64 * width]):
            for j in range(n):
                layers.append(BasicBlock(in_ch, ch, 2 if i > 0 and j == 0 else 1))
                in_ch = ch
        self.features = nn.Sequential(*layers, nn.GroupNorm(16, in_ch), nn.ReLU())
        self.fc = nn.Linear(in_ch, num_classes)

    def forward(self, x):
        return self.fc(self.features(x).mean(dim=(2, 3)))


torch.manual_seed(0)
device = torch.device("cuda")
model = WideResNet().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
params = {k: v.detach() for k, v in model.named_parameters()}


def compute_loss(params, sample, target):
    logits = functional_call(model, params, (sample.unsqueeze(0),))
    return F.cross_entropy(logits, target.unsqueeze(0))


per_sample_grads = vmap(grad_and_value(compute_loss), in_dims=(None, 0, 0))

for step in range(STEPS):
    images = torch.randn(BATCH_SIZE, 3, 32, 32, device=device)
    targets = torch.randint(0, 10, (BATCH_SIZE,), device=device)

    grads, losses = per_sample_grads(params, images, targets)
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()], dim=1).norm(dim=1)
    clip_factor = (MAX_GRAD_NORM / (norms + 1e-6)).clamp(max=1.0)

    for name, p in model.named_parameters():
        summed = torch.einsum("n,n...->...", clip_factor, grads[name])
        noise = NOISE_MULTIPLIER * MAX_GRAD_NORM * torch.randn_like(p)
        p.grad = (summed + noise) / BATCH_SIZE
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} loss {losses.mean().item():.4f} mean grad norm {norms.mean().item():.3f}")
