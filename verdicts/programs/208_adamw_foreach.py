"""I calculated 16 bytes per parameter (weights, gradients, two moments), that is 2.5 GB for my model. The 3 GB card still fails in optimizer.step()."""
import os

import torch
from torch import nn

torch.manual_seed(1)
device = "cuda"


def residual_mlp(width, depth):
    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

        def forward(self, x):
            return x + self.b(torch.nn.functional.gelu(self.a(x)))

    return nn.Sequential(nn.Linear(48, width), *[Residual() for _ in range(depth)], nn.Linear(width, 24))


with torch.device(device):
    forecaster = residual_mlp(2048, 10)
n = sum(p.numel() for p in forecaster.parameters())
print(f"{n/1e6:.0f}M parameters, expecting {16*n/2**30:.2f} GiB")

kwargs = {"foreach": False} if os.environ.get("CURED") else {}
opt = torch.optim.AdamW(forecaster.parameters(), lr=1e-3, weight_decay=0.05, **kwargs)

for week in range(30):
    history, future = torch.randn(128, 48, device=device), torch.randn(128, 24, device=device)
    opt.zero_grad(set_to_none=True)
    loss = (forecaster(history) - future).abs().mean()
    loss.backward()
    opt.step()
    if week % 10 == 0:
        print("week", week, loss.item(), flush=True)
