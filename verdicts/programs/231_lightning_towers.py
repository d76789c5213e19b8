"""Two tower retrieval in Lightning: sanity check passes, the first training batch prints its loss, then torch.OutOfMemoryError. bf16-mixed did not help."""
import os

import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Clicks(Dataset):
    def __len__(self):
        return 2048

    def __getitem__(self, i):
        return torch.tensor([i % 99, i % 7, i % 13]), torch.tensor([i % 31, i % 5])


class Tower(nn.Module):
    def __init__(self, rows, dim=128, out=64):
        super().__init__()
        self.table = nn.EmbeddingBag(rows, dim, mode="mean", device="meta")
        self.mlp = nn.Sequential(nn.Linear(dim, 256), nn.ReLU(), nn.Linear(256, out))

    def forward(self, ids):
        return F.normalize(self.mlp(self.table(ids)), dim=-1)


class TwoTower(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.query, self.item = Tower(500_000), Tower(300_000)

    def training_step(self, batch, index):
        q, i = batch
        scores = self.query(q) @ self.item(i).T
        loss = F.cross_entropy(scores * 20, torch.arange(len(q), device=self.device))
        print("batch", index, flush=True)
        return loss

    def validation_step(self, batch, index):
        self.query(batch[0])

    def configure_optimizers(self):
        if os.environ.get("CURED"):
            return torch.optim.SGD(self.parameters(), lr=0.1)
        return torch.optim.AdamW(self.parameters(), lr=1e-3, weight_decay=1e-2)


model = TwoTower()
for tower in (model.query, model.item):
    tower.table.to_empty(device="cpu")
trainer = pl.Trainer(max_steps=6, accelerator="gpu", devices=1, precision="bf16-mixed", logger=False,
                     enable_checkpointing=False, enable_progress_bar=False, num_sanity_val_steps=1)
trainer.fit(model, DataLoader(Clicks(), batch_size=256), DataLoader(Clicks(), batch_size=256))
