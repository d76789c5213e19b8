"""Every epoch runs to 97 % and then crashes. I do not understand it because memory is flat the whole time."""
import os

import torch
import torch.nn as nn


class PointNet(nn.Module):
    def __init__(self, classes=40):
        super().__init__()
        sizes = [3, 64, 128, 256, 512, 1024]
        self.local = nn.Sequential(*[m for i, o in zip(sizes, sizes[1:]) for m in (nn.Linear(i, o), nn.LayerNorm(o), nn.ReLU())])
        self.head = nn.Sequential(nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, classes))

    def forward(self, clouds):
        return self.head(self.local(clouds).amax(1))


class Batches:
    """Batches of `size` clouds; a remainder must not become a tiny batch (bad statistics), so it goes with the last one."""

    def __init__(self, clouds, size):
        self.clouds, self.size = clouds, size

    def __iter__(self):
        full = self.clouds.shape[0] // self.size
        for i in range(full):
            last = i == full - 1
            if os.environ.get("CURED") or not last:
                yield self.clouds[i * self.size:(i + 1) * self.size]
            else:
                yield self.clouds[i * self.size:]


clouds = torch.zeros(16 * 32 + 30, 2048, 3)
model = PointNet().cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(2):
    for n, batch in enumerate(Batches(clouds, 32)):
        out = model(batch.cuda())
        loss = nn.functional.cross_entropy(out, torch.randint(0, 40, (len(out),), device="cuda"))
        opt.zero_grad()
        loss.backward()
        opt.step()
        del out, loss
    print("epoch", epoch, "done", flush=True)
