"""BYOL self-supervised training: resnet50 online and target networks, channels_last, bf16 autocast."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.models import resnet50

BATCH_SIZE = 320
STEPS = 4
BASE_TAU = 0.996


def mlp(in_dim, hidden=4096, out_dim=256):
    return nn.Sequential(
        nn.Linear(in_dim, hidden), nn.BatchNorm1d(hidden), nn.ReLU(inplace=True), nn.Linear(hidden, out_dim)
    )


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = resnet50(weights=None, zero_init_residual=True)
        dim = self.backbone.fc.in_features
        self.backbone.fc = nn.Identity()
        self.projector = mlp(dim)

    def forward(self, x):
        return self.projector(self.backbone(x))


def regression_loss(p, z):
    return 2 - 2 * F.cosine_similarity(p, z, dim=-1)


def augment(images):
    noise = 0.1 * torch.randn_like(images)
    flip = torch.rand(images.size(0), 1, 1, 1, device=images.device) < 0.5
    return torch.where(flip, images.flip(-1), images) + noise


@torch.no_grad()
def update_target(online, target, tau):
    for p, p_t in zip(online.parameters(), target.parameters()):
        p_t.mul_(tau).add_(p, alpha=1 - tau)


def main():
    torch.manual_seed(3)
    device = torch.device("cuda")

    online = Encoder().to(device, memory_format=torch.channels_last)
    predictor = mlp(256).to(device)
    target = copy.deepcopy(online)
    for p in target.parameters():
        p.requires_grad = False

    params = list(online.parameters()) + list(predictor.parameters())
    optimizer = torch.optim.AdamW(params, lr=3e-4, weight_decay=1e-6, foreach=False)

    online.train()
    predictor.train()
    for step in range(STEPS):
        images = torch.rand(BATCH_SIZE, 3, 224, 224, device=device)
        view1 = augment(images).contiguous(memory_format=torch.channels_last)
        view2 = augment(images).contiguous(memory_format=torch.channels_last)

        with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
            p1 = predictor(online(view1))
            p2 = predictor(online(view2))
            with torch.no_grad():
                z1 = target(view1)
                z2 = target(view2)
            loss = (regression_loss(p1, z2.detach()) + regression_loss(p2, z1.detach())).mean()

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tau = 1 - (1 - BASE_TAU) * (math.cos(math.pi * step / STEPS) + 1) / 2
        update_target(online, target, tau)
        print(f"step {step}: loss {loss.item():.4f} tau {tau:.5f}")


if __name__ == "__main__":
    main()
