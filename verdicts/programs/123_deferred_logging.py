"""To avoid GPU syncs I postpone all logging to the end of the epoch (a list of functions that I call then). Epochs with few batches work."""
import os

import torch
import torch.nn as nn

device = "cuda"


class Later:
    def __init__(self):
        self.jobs = []

    def add(self, job):
        self.jobs.append(job)

    def run(self):
        out = [job() for job in self.jobs]
        self.jobs.clear()
        return out


class ClickModel(nn.Module):
    def __init__(self, fields=26, dim=32):
        super().__init__()
        self.emb = nn.Embedding(26 * 2000, dim)
        self.register_buffer("offset", torch.arange(fields) * 2000)
        self.top = nn.Sequential(nn.Linear(fields * dim, 512), nn.ReLU(), nn.Linear(512, 1))

    def forward(self, x):
        e = self.emb(x + self.offset).flatten(1)
        return self.top(e).squeeze(1), e


def epoch(model, opt, batches, later):
    for b in range(batches):
        x = torch.randint(0, 2000, (4096, 26), device=device)
        y = torch.rand(4096, device=device).round()
        logit, e = model(x)
        loss = nn.functional.binary_cross_entropy_with_logits(logit, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if os.environ.get("CURED"):
            norm = e.detach().norm()
            later.add(lambda b=b, n=norm: (b, n.item()))
        else:
            later.add(lambda b=b, e=e: (b, e.norm().item()))
    return later.run()


model, later = ClickModel().to(device), Later()
opt = torch.optim.Adagrad(model.parameters(), lr=0.01)
for n in (10, 30, 200):
    print("batches", n, "logged", len(epoch(model, opt, n, later)), flush=True)
