"""RegNetY-8GF classifier in PyTorch Lightning: mixup, bf16-mixed, channels_last, weight EMA kept by a callback."""
import copy
import tempfile

import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision.models import regnet_y_8gf

NUM_CLASSES = 1000
IMAGE_SIZE = 224
TRAIN_BATCH = 128
VAL_BATCH = 256
STEPS = 6
WORKERS = 4


class SyntheticImageNet(Dataset):
    def __init__(self, n, size, seed):
        self.n, self.size, self.seed = n, size, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed + i)
        image = torch.randint(0, 256, (3, self.size, self.size), generator=g, dtype=torch.uint8)
        label = int(torch.randint(0, NUM_CLASSES, (1,), generator=g))
        return image, label


class WeightEMA(pl.Callback):
    def __init__(self, decay=0.999):
        self.decay = decay
        self.shadow = None

    def on_train_start(self, trainer, module):
        self.shadow = copy.deepcopy(module.net).eval().requires_grad_(False)

    @torch.no_grad()
    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        for e, p in zip(self.shadow.state_dict().values(), module.net.state_dict().values()):
            if e.dtype.is_floating_point:
                e.lerp_(p.detach(), 1 - self.decay)
            else:
                e.copy_(p)


class Classifier(pl.LightningModule):
    def __init__(self, lr=0.4, mixup=0.2):
        super().__init__()
        self.save_hyperparameters()
        self.net = regnet_y_8gf(weights=None, num_classes=NUM_CLASSES).to(memory_format=torch.channels_last)
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1))

    def normalize(self, x):
        x = x.float().div_(255)
        return ((x - self.mean) / self.std).contiguous(memory_format=torch.channels_last)

    def training_step(self, batch, batch_idx):
        x, y = batch
        x = self.normalize(x)
        lam = float(torch.distributions.Beta(self.hparams.mixup, self.hparams.mixup).sample())
        perm = torch.randperm(x.size(0), device=x.device)
        x = lam * x + (1 - lam) * x[perm]
        logits = self.net(x)
        loss = lam * F.cross_entropy(logits, y) + (1 - lam) * F.cross_entropy(logits, y[perm])
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self.net(self.normalize(x))
        self.log("val_acc", (logits.argmax(1) == y).float().mean(), on_epoch=True, batch_size=y.numel())

    def configure_optimizers(self):
        decay = [p for p in self.net.parameters() if p.ndim > 1]
        no_decay = [p for p in self.net.parameters() if p.ndim <= 1]
        groups = [{"params": decay, "weight_decay": 5e-5}, {"params": no_decay, "weight_decay": 0.0}]
        opt = torch.optim.SGD(groups, lr=self.hparams.lr, momentum=0.9, nesterov=True)
        sched = torch.optim.lr_scheduler.LinearLR(opt, start_factor=0.01, total_iters=STEPS)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}


def main():
    pl.seed_everything(7)
    train = DataLoader(SyntheticImageNet(TRAIN_BATCH * STEPS, IMAGE_SIZE, 0), batch_size=TRAIN_BATCH, shuffle=True,
                       num_workers=WORKERS, pin_memory=True, drop_last=True)
    val = DataLoader(SyntheticImageNet(VAL_BATCH * 2, IMAGE_SIZE, 10**6), batch_size=VAL_BATCH,
                     num_workers=WORKERS, pin_memory=True)
    trainer = pl.Trainer(
        accelerator="gpu",
        devices=1,
        precision="bf16-mixed",
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        num_sanity_val_steps=1,
        gradient_clip_val=5.0,
        callbacks=[WeightEMA()],
        default_root_dir=tempfile.mkdtemp(),
    )
    trainer.fit(Classifier(), train, val)
    print({k: round(float(v), 4) for k, v in trainer.callback_metrics.items()})


if __name__ == "__main__":
    main()
