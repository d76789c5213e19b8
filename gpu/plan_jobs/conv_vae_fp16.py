"""Convolutional VAE on 128x128 images with fp16 autocast, a GradScaler and NAdam."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.amp import GradScaler, autocast
from torch.utils.data import DataLoader, Dataset


class NoiseImages(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(idx)
        low = torch.rand(1, 3, 16, 16, generator=g)
        return F.interpolate(low, size=128, mode="bilinear", align_corners=False)[0]


class ConvVAE(nn.Module):
    def __init__(self, latent_dim=256, hidden_dims=(64, 128, 256, 512)):
        super().__init__()
        layers, c = [], 3
        for h in hidden_dims:
            layers += [nn.Conv2d(c, h, 3, stride=2, padding=1), nn.BatchNorm2d(h), nn.LeakyReLU()]
            c = h
        self.encoder = nn.Sequential(*layers)
        self.fc_mu = nn.Linear(c * 8 * 8, latent_dim)
        self.fc_var = nn.Linear(c * 8 * 8, latent_dim)

        self.decoder_input = nn.Linear(latent_dim, c * 8 * 8)
        layers = []
        for h in list(hidden_dims[-2::-1]) + [hidden_dims[0]]:
            layers += [
                nn.ConvTranspose2d(c, h, 3, stride=2, padding=1, output_padding=1),
                nn.BatchNorm2d(h),
                nn.LeakyReLU(),
            ]
            c = h
        self.decoder = nn.Sequential(*layers, nn.Conv2d(c, 3, 3, padding=1))

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def forward(self, x):
        h = self.encoder(x).flatten(1)
        mu, logvar = self.fc_mu(h), self.fc_var(h)
        z = self.reparameterize(mu, logvar)
        out = self.decoder(self.decoder_input(z).view(x.size(0), -1, 8, 8))
        return torch.sigmoid(out), mu, logvar


def vae_loss(recon, x, mu, logvar, kld_weight=0.00025):
    mu, logvar = mu.float(), logvar.float()
    recon_loss = F.mse_loss(recon.float(), x)
    kld = torch.mean(-0.5 * torch.sum(1 + logvar - mu**2 - logvar.exp(), dim=1), dim=0)
    return recon_loss + kld_weight * kld


torch.manual_seed(0)
device = torch.device("cuda")
model = ConvVAE().to(device)
optimizer = torch.optim.NAdam(model.parameters(), lr=5e-5)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)
scaler = GradScaler("cuda")
loader = DataLoader(NoiseImages(128 * 5), batch_size=128, shuffle=True, num_workers=0)

for step, x in enumerate(loader):
    x = x.to(device)
    optimizer.zero_grad()
    with autocast("cuda", dtype=torch.float16):
        recon, mu, logvar = model(x)
        loss = vae_loss(recon, x, mu, logvar)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
    print(f"step {step}: loss {loss.item():.4f}")
