"""Test-time augmentation for a plankton classifier: without TTA the test runs with 1 GB, with TTA it dies at once."""
import os

import torch
import torch.nn as nn
import torchvision.transforms.functional as TF

device = torch.device("cuda")


class ConvMixerLite(nn.Module):
    def __init__(self, d=96, patch=4, classes=60):
        super().__init__()
        self.patch, self.p = nn.Linear(patch * patch, d), patch
        self.ff = nn.ModuleList(nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)) for _ in range(4))
        self.head = nn.Linear(d, classes)

    def forward(self, x):
        b = x.shape[0]
        x = x.unfold(2, self.p, self.p).unfold(3, self.p, self.p).reshape(b, -1, self.p ** 2)
        x = self.patch(x)
        for f in self.ff:
            x = x + f(x)
        return self.head(x.mean(1))


def views(x):
    for k in range(4):
        rot = torch.rot90(x, k, (2, 3))
        yield rot
        yield TF.hflip(rot)


@torch.inference_mode()
def predict_tta(model, x):
    if os.environ.get("CURED"):
        return sum(model(v).softmax(-1) for v in views(x)) / 8
    stacked = torch.stack(list(views(x)))
    n, b = stacked.shape[:2]
    return model(stacked.flatten(0, 1)).view(n, b, -1).softmax(-1).mean(0)


model = ConvMixerLite().to(device).eval()
correct = 0
for i in range(6):
    images = torch.rand(128, 1, 128, 128, device=device)
    p = predict_tta(model, images)
    correct += int(p.argmax(1).float().mean() > 0)
    print("batch", i, tuple(p.shape), flush=True)
