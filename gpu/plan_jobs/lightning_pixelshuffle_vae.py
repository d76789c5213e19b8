"""Convolutional VAE with PixelShuffle upsampling in PyTorch Lightning, with validation."""
import pytorch_lightning as pl
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics import MeanSquaredError


def conv_block(cin, cout):
    return nn.Sequential(
        nn.GroupNorm(8, cin),
        nn.SiLU(),
        nn.Conv2d(cin, cout, 3, padding=1),
        nn.GroupNorm(8, cout),
        nn.SiLU(),
        nn.Conv2d(cout, cout, 3, padding=1),
    )


class Down(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.block = conv_block(cin, cout)
        self.down = nn.Sequential(nn.PixelUnshuffle(2), nn.Conv2d(4 * cout, cout, 1))

    def forward(self, x):
        return self.down(self.block(x))


class Up(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.up = nn.Sequential(nn.Conv2d(cin, 4 * cout, 3, padding=1), nn.PixelShuffle(2))
        self.block = conv_block(cout, cout)

    def forward(self, x):
        x = self.up(x)
        return x + self.block(x)


class VAE(pl.LightningModule):
    def __init__(self, width=64, latent=8, lr=3e-4, kl_weight=1e-4):
        super().__init__()
        self.save_hyperparameters()
        w = width
        self.encoder = nn.Sequential(nn.Conv2d(3, w, 3, padding=1), Down(w, 2 * w), Down(2 * w, 4 * w), Down(4 * w, 4 * w))
        self.to_moments = nn.Conv2d(4 * w, 2 * latent, 1)
        self.from_latent = nn.Conv2d(latent, 4 * w, 1)
        self.decoder = nn.Sequential(Up(4 * w, 4 * w), Up(4 * w, 2 * w), Up(2 * w, w), nn.SiLU(), nn.Conv2d(w, 3, 3, padding=1))
        self.val_mse = MeanSquaredError()

    def forward(self, x):
        mean, logvar = self.to_moments(self.encoder(x)).chunk(2, dim=1)
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        return self.decoder(self.from_latent(z)), mean, logvar

    def training_step(self, batch, batch_idx):
        (x,) = batch
        recon, mean, logvar = self(x)
        kl = -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).mean()
        loss = F.l1_loss(recon, x) + self.hparams.kl_weight * kl
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        (x,) = batch
        recon, _, _ = self(x)
        self.val_mse(recon.float().contiguous(), x)
        self.log("val_mse", self.val_mse)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.95)}


if __name__ == "__main__":
    pl.seed_everything(8)
    train = DataLoader(TensorDataset(torch.rand(96, 3, 192, 192)), batch_size=32, shuffle=True)
    val = DataLoader(TensorDataset(torch.rand(64, 3, 192, 192)), batch_size=32)
    trainer = pl.Trainer(
        accelerator="gpu", devices=1, max_epochs=2, precision="bf16-mixed", gradient_clip_val=1.0,
        logger=False, enable_checkpointing=False, enable_progress_bar=False,
    )
    trainer.fit(VAE(), train, val)
    print("val mse", trainer.callback_metrics["val_mse"].item())
