"""Evaluation of an image tagger with 6000 tags under no_grad. All batches go through (65% of memory used), then the line that joins the results is out of memory."""
import os

import torch
import torch.nn as nn

dev = torch.device("cuda")
TAGS = 6000


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 8, stride=8)
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(32 * 8 * 8, 512), nn.ReLU(), nn.Linear(512, TAGS))

    def forward(self, x):
        return self.fc(torch.relu(self.stem(x)))


@torch.no_grad()
def evaluate(model, n_batches):
    model.eval()
    outs, ys = [], []
    for i in range(n_batches):
        x = torch.rand(512, 3, 64, 64, device=dev)
        out = model(x)
        outs.append(out.topk(5).indices.cpu() if os.environ.get("CURED") else out)
        ys.append(torch.randint(0, TAGS, (512,)))
    print("batches done, joining", flush=True)
    scores = torch.cat(outs)
    return scores.shape, torch.cat(ys).shape


model = Tagger().to(dev)
opt = torch.optim.Adam(model.parameters())
for epoch in range(2):
    model.train()
    for _ in range(10):
        x, y = torch.rand(128, 3, 64, 64, device=dev), torch.rand(128, TAGS, device=dev)
        loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, evaluate(model, 110), flush=True)
