"""Converted my training to half precision to halve the memory. It became larger than it was and does not get through one step."""
import os

import torch
import torch.nn as nn

WIDTH, DEPTH = 4096, 10


class Halved:
    """fp16 model with float32 master weights."""

    def __init__(self, model, lr):
        self.model = model
        if os.environ.get("CURED"):
            self.master = list(model.parameters())
        else:
            self.master = [p.detach().clone().float() for p in model.parameters()]
        self.optimizer = torch.optim.Adam(self.master, lr=lr, eps=1e-4, foreach=False)

    def update(self):
        if self.master[0].dtype == torch.float32:
            for m, p in zip(self.master, self.model.parameters()):
                m.grad = p.grad.float()
            self.optimizer.step()
            with torch.no_grad():
                for m, p in zip(self.master, self.model.parameters()):
                    p.copy_(m)
        else:
            self.optimizer.step()
        self.model.zero_grad()


def make(dtype):
    with torch.device("meta"):
        net = nn.Sequential(nn.Linear(128, WIDTH), *[nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(DEPTH)], nn.Linear(WIDTH, 1))
    return net.to(dtype).to_empty(device="cuda")


trainer = Halved(make(torch.bfloat16), 1e-4)
for step in range(10):
    x = torch.randn(256, 128, device="cuda", dtype=torch.bfloat16)
    loss = trainer.model(x).float().pow(2).mean()
    loss.backward()
    trainer.update()
    print("step", step, loss.item(), flush=True)
