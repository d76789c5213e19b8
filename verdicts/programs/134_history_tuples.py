"""Land-cover segmentation. My history has the loss and the prediction of each step for a video of the training; OOM before the first epoch ends."""
import os
import torch
import torch.nn as nn
import torch.nn.functional as F

dev = "cuda"


class PixelMLP(nn.Module):
    """Works on every pixel: 13 Sentinel bands in, 10 classes out."""

    def __init__(self, bands=13, classes=10, w=48):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(bands, w), nn.Linear(w, w), nn.Linear(w, classes)

    def forward(self, x):
        x = F.relu(self.a(x.permute(0, 2, 3, 1)))
        return self.c(F.relu(self.b(x)))


def fit(model, tiles=140):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    history = []
    for t in range(tiles):
        tile = torch.rand(4, 13, 512, 512, device=dev)
        truth = torch.randint(0, 10, (4, 512, 512), device=dev)
        scores = model(tile)
        loss = F.cross_entropy(scores.flatten(0, 2), truth.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if os.environ.get("CURED"):
            history.append((loss.item(), scores[0, ::8, ::8].argmax(-1).to(torch.uint8).cpu()))
        else:
            history.append((loss, scores))
        if t % 10 == 0:
            print(t, flush=True)
    return history


print(len(fit(PixelMLP().to(dev))))
