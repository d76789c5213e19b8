"""Read that gc.disable() makes training smoother (no random pauses). It is smoother, but now it goes OOM. Nothing is kept anywhere in my code!"""
import gc
import os

import torch
import torch.nn as nn

gc.disable()
device = "cuda"


class TrackedBatch:
    """One batch of detections with its targets; the targets know their batch."""

    def __init__(self, images):
        self.images = images
        self.targets = [Target(self, i) for i in range(len(images))]


class Target:
    def __init__(self, batch, index):
        self.batch, self.index = batch, index
        self.boxes = torch.rand(10, 4, device=device)

    def crop_mean(self):
        return self.batch.images[self.index].mean()


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Linear(3 * 32 * 32, 256)
        self.enc = nn.TransformerEncoderLayer(256, 8, 512, batch_first=True)
        self.box = nn.Linear(256, 4)

    def forward(self, images):
        b = len(images)
        p = images.unfold(2, 32, 32).unfold(3, 32, 32).permute(0, 2, 3, 1, 4, 5).reshape(b, -1, 3 * 32 * 32)
        return self.box(self.enc(self.patch(p)))[:, :10]


model = Detector().to(device)
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
for i in range(160):
    if os.environ.get("CURED") and i % 10 == 0:
        gc.collect()
    batch = TrackedBatch(torch.rand(16, 3, 384, 384, device=device))
    pred = model(batch.images)
    loss = nn.functional.l1_loss(pred, torch.stack([t.boxes for t in batch.targets]))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print("iteration", i, flush=True)
