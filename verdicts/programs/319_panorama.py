"""Fully convolutional, so each picture in its own size and batch size 1. It crashed after 26 good steps."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision

device = "cuda"
LONGEST = 1024
SIZES = [(480, 640), (512, 512), (427, 640), (640, 480), (600, 800), (375, 500), (768, 576), (333, 500)]


def pictures(n=40):
    for i in range(n):
        h, w = SIZES[i % len(SIZES)]
        if i == 26:  # a panorama
            h, w = 1080, 3200
        picture = torch.rand(1, 3, h, w)
        if os.environ.get("CURED") and max(h, w) > LONGEST:
            picture = F.interpolate(picture, scale_factor=LONGEST / max(h, w))
        yield picture


class Saliency(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = torchvision.models.vgg11_bn(weights=None).features
        self.head = nn.Conv2d(512, 1, 1)

    def forward(self, x):
        y = self.head(self.backbone(x))
        return F.interpolate(y, size=x.shape[-2:], mode="bilinear")


model = Saliency().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step, picture in enumerate(pictures()):
    picture = picture.to(device)
    saliency = model(picture)
    loss = F.binary_cross_entropy_with_logits(saliency, torch.zeros_like(saliency))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0 or step == 26:
        print("step", step, tuple(picture.shape), flush=True)
