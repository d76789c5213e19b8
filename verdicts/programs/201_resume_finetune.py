"""Fine-tuning from scratch works on this card. When I resume the very same run from its checkpoint it stops in the first step."""
import os
import tempfile

import torch
from torch import nn


class SpeechEncoder(nn.Module):
    def __init__(self, dim=1024, depth=10, phones=72):
        super().__init__()
        self.front = nn.Linear(80, dim)
        layer = lambda: nn.TransformerEncoderLayer(dim, 16, 4 * dim, batch_first=True, dropout=0.0)
        self.blocks = nn.ModuleList([layer() for _ in range(depth)])
        self.head = nn.Linear(dim, phones)

    def forward(self, mel):
        h = self.front(mel)
        for block in self.blocks:
            h = block(h)
        return self.head(h)


def fresh():
    with torch.device("meta"):
        return SpeechEncoder().to_empty(device="cuda")


def write_checkpoint(path):  # what the last run left
    with torch.device("meta"):
        model = SpeechEncoder().to_empty(device="cpu")
    torch.save({"model": model.state_dict(), "epoch": 3}, path)


def main(path):
    model = fresh()
    where = "cpu" if os.environ.get("CURED") else "cuda"
    ckpt = torch.load(path, map_location=where)
    model.load_state_dict(ckpt["model"])
    opt = torch.optim.AdamW(model.parameters(), lr=2e-5, foreach=False)
    for it in range(4):
        mel = torch.randn(2, 200, 80, device="cuda")
        target = torch.randint(0, 72, (2, 200), device="cuda")
        loss = nn.functional.cross_entropy(model(mel).transpose(1, 2), target)
        loss.backward()
        opt.step()
        opt.zero_grad()
        print("epoch", ckpt["epoch"], "it", it, loss.item())


with tempfile.TemporaryDirectory() as folder:
    write_checkpoint(os.path.join(folder, "last.pt"))
    main(os.path.join(folder, "last.pt"))
