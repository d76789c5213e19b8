"""Tabular transformer; as there is no backward in validation I use four times the batch there. It fails in the first validation batch, model.eval() is set."""
import contextlib
import os
import torch
import torch.nn as nn

dev = "cuda"


class FTTransformer(nn.Module):
    def __init__(self, n_features=48, d=192, depth=4):
        super().__init__()
        self.tokens = nn.Parameter(torch.randn(n_features, d))
        self.blocks = nn.ModuleList()
        for _ in range(depth):
            self.blocks.append(nn.ModuleDict({
                "att": nn.MultiheadAttention(d, 8, batch_first=True), "n1": nn.LayerNorm(d), "n2": nn.LayerNorm(d),
                "ff": nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))}))
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        h = x.unsqueeze(-1) * self.tokens
        for blk in self.blocks:
            y = blk["n1"](h)
            h = h + blk["att"](y, y, y, need_weights=False)[0]
            h = h + blk["ff"](blk["n2"](h))
        return self.out(h.mean(1)).squeeze(-1)


model = FTTransformer().to(dev)
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
TRAIN_BS = 512
for epoch in range(2):
    model.train()
    for _ in range(5):
        x, y = torch.randn(TRAIN_BS, 48, device=dev), torch.randn(TRAIN_BS, device=dev)
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, "train done", flush=True)
    model.eval()
    with torch.no_grad() if os.environ.get("CURED") else contextlib.nullcontext():
        for _ in range(3):
            x, y = torch.randn(4 * TRAIN_BS, 48, device=dev), torch.randn(4 * TRAIN_BS, device=dev)
            mae = (model(x) - y).abs().mean().item()
    print("epoch", epoch, "mae", mae, flush=True)
