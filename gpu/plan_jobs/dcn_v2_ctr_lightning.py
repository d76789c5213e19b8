"""DCN-v2 click prediction in Lightning: big hashed embedding tables with dense gradients, low-rank cross layers, fp32."""
import tempfile

import pytorch_lightning as pl
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, IterableDataset

DENSE = 13
TABLES = [1500000, 800000, 600000, 400000, 250000, 100000] + [20000] * 10 + [500] * 10
DIM = 64
BATCH = 16384
STEPS = 6
WORKERS = 2


class Clicks(IterableDataset):
    def __init__(self, batches, seed):
        self.batches, self.seed = batches, seed

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        wid, n = (info.id, info.num_workers) if info else (0, 1)
        g = torch.Generator().manual_seed(self.seed + wid)
        sizes = torch.tensor(TABLES)
        for _ in range(wid, self.batches, n):
            dense = torch.rand(BATCH, DENSE, generator=g).mul_(100).log1p_()
            sparse = (torch.rand(BATCH, len(TABLES), generator=g) ** 3 * sizes).long()
            label = (torch.rand(BATCH, generator=g) < 0.25).float()
            yield dense, sparse, label


class CrossLayer(nn.Module):
    def __init__(self, width, rank=512):
        super().__init__()
        self.V = nn.Linear(width, rank, bias=False)
        self.U = nn.Linear(rank, width)

    def forward(self, x0, x):
        return x0 * self.U(self.V(x)) + x


class DCNv2(pl.LightningModule):
    def __init__(self):
        super().__init__()
        offsets = torch.tensor([0] + TABLES[:-1]).cumsum(0)
        self.register_buffer("offsets", offsets)
        self.embed = nn.Embedding(sum(TABLES), DIM)
        nn.init.normal_(self.embed.weight, std=0.01)
        width = DENSE + DIM * len(TABLES)
        self.cross = nn.ModuleList([CrossLayer(width) for _ in range(3)])
        mlp, last = [], width
        for h in (1024, 1024, 512):
            mlp += [nn.Linear(last, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Dropout(0.1)]
            last = h
        self.mlp = nn.Sequential(*mlp)
        self.out = nn.Linear(width + last, 1)

    def forward(self, dense, sparse):
        e = self.embed(sparse + self.offsets).flatten(1)
        x0 = torch.cat([dense, e], 1)
        x = x0
        for layer in self.cross:
            x = layer(x0, x)
        return self.out(torch.cat([x, self.mlp(x0)], 1)).squeeze(1)

    def training_step(self, batch, _):
        dense, sparse, y = batch
        loss = F.binary_cross_entropy_with_logits(self(dense, sparse), y)
        self.log("train_logloss", loss)
        return loss

    def validation_step(self, batch, _):
        dense, sparse, y = batch
        logits = self(dense, sparse)
        self.log("val_logloss", F.binary_cross_entropy_with_logits(logits, y), batch_size=y.numel())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def main():
    pl.seed_everything(2024)
    trainer = pl.Trainer(accelerator="gpu", devices=1, max_epochs=2, logger=False, enable_checkpointing=False,
                         enable_progress_bar=False, gradient_clip_val=10.0, num_sanity_val_steps=0,
                         default_root_dir=tempfile.mkdtemp())
    trainer.fit(
        DCNv2(),
        DataLoader(Clicks(STEPS, 0), batch_size=None, num_workers=WORKERS, pin_memory=True),
        DataLoader(Clicks(2, 999), batch_size=None, num_workers=1, pin_memory=True),
    )
    print({k: round(v.item(), 4) for k, v in trainer.callback_metrics.items()})


if __name__ == "__main__":
    main()
