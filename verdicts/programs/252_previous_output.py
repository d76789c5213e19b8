"""Super resolution of large scans. The first picture is written, the second one, of the same size, gives CUDA out of memory. Every time."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F


class Upscaler(nn.Module):
    def __init__(self, factor=4):
        super().__init__()
        self.factor = factor
        self.gain = nn.Parameter(torch.ones(3, 1, 1))

    def forward(self, x):
        return F.interpolate(x, scale_factor=self.factor, mode="bicubic").mul_(self.gain)


def scans(n):
    for _ in range(n):
        yield torch.zeros(1, 3, 2600, 2600)


def save(picture):
    return picture.mean().item()


model = Upscaler().cuda().eval()
with torch.inference_mode():
    for i, scan in enumerate(scans(5)):
        scan = scan.cuda()
        sharp = model(scan)
        blurred = F.avg_pool2d(sharp, 5, stride=1, padding=2)
        print("scan", i, save(sharp), save(blurred), flush=True)
        if os.environ.get("CURED"):
            del sharp, blurred
