"""bitsandbytes' optimizers in a plain loop: state of 8 bits, and state in paged memory."""

import sys

import bitsandbytes as bnb
import torch
from torch import nn

kind = sys.argv[1] if len(sys.argv) > 1 else "adam8bit"
model = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)) for _ in range(4)]).cuda()
make = {
    "adam8bit": lambda p: bnb.optim.Adam8bit(p, lr=1e-3, betas=(0.9, 0.995)),
    "paged": lambda p: bnb.optim.PagedAdamW(p, lr=1e-3),
    "paged8bit": lambda p: bnb.optim.PagedAdamW8bit(p, lr=1e-3),
    "lion8bit": lambda p: bnb.optim.Lion8bit(p, lr=1e-4),
}[kind]
optimizer = make(model.parameters())
for step in range(100):
    x = torch.randn(64, 1024, device="cuda")
    loss = (model(x) - x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
