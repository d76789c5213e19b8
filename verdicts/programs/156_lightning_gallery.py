"""Person re-identification with Lightning, validation after every epoch. The first three epochs with validation are OK, the next validation has OOM."""
import os

import pytorch_lightning as pl
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class ReID(pl.LightningModule):
    def __init__(self, ids=200, parts=16, dim=512):
        super().__init__()
        self.parts, self.dim = parts, dim
        self.trunk = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 16, 1024), nn.ReLU(), nn.Linear(1024, parts * dim))
        self.cls = nn.Linear(parts * dim, ids)
        self.gallery = []

    def forward(self, x):
        return self.trunk(x)

    def training_step(self, batch, _):
        x, y = batch
        return F.cross_entropy(self.cls(self(x)), y)

    def validation_step(self, batch, _):
        x, y = batch
        self.gallery.append((F.normalize(self(x), dim=-1), y))

    def on_validation_epoch_end(self):
        feats = torch.cat([f for f, _ in self.gallery[-4:]])
        self.print("epoch", self.current_epoch, "last gallery part", tuple(feats.shape))
        if os.environ.get("CURED"):
            self.gallery.clear()

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)
        return [opt], [torch.optim.lr_scheduler.MultiStepLR(opt, [4, 6])]


def loader(n, bs):
    return DataLoader(TensorDataset(torch.zeros(n, 3, 32, 16), torch.arange(n) % 200), batch_size=bs)


if __name__ == "__main__":
    trainer = pl.Trainer(max_epochs=8, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
                         enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
    trainer.fit(ReID(), loader(512, 64), loader(12800, 256))
