"""Migrated my LightningModule to 2.x, where training_epoch_end is gone, so I collect the outputs in a list as the docs say. OOM in epoch 3 or 4."""
import os

import pytorch_lightning as pl
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SoundTagger(pl.LightningModule):
    def __init__(self, tags=527):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64 * 32, 1024), nn.ReLU(), nn.Linear(1024, 4096), nn.ReLU())
        self.head = nn.Linear(4096, tags)
        self.training_step_outputs = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        emb = self.net(x.flatten(1))
        loss = F.binary_cross_entropy_with_logits(self.head(emb), y)
        self.training_step_outputs.append({"loss": loss.detach(), "emb": emb})
        return loss

    def on_train_epoch_end(self):
        outs = self.training_step_outputs
        print("epoch", self.current_epoch, "mean loss", torch.stack([o["loss"] for o in outs]).mean().item(), flush=True)
        if os.environ.get("CURED"):
            outs.clear()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-4)


data = TensorDataset(torch.zeros(4096, 64, 32), torch.zeros(4096, 527))
trainer = pl.Trainer(max_epochs=10, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False)
trainer.fit(SoundTagger(), DataLoader(data, batch_size=256, drop_last=True))
