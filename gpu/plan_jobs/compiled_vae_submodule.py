"""A convolutional VAE in channels_last: only the decoder and the loss are compiled, the encoder stays eager."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
device = "cuda"


class Res(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(16, ch), nn.GroupNorm(16, ch)
        self.conv1, self.conv2 = nn.Conv2d(ch, ch, 3, padding=1), nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, x):
        h = self.conv1(F.silu(self.norm1(x)))
        return x + self.conv2(F.silu(self.norm2(h)))


class Encoder(nn.Module):
    def __init__(self, widths=(64, 128, 256), latent=8):
        super().__init__()
        layers, prev = [nn.Conv2d(3, widths[0], 3, padding=1)], widths[0]
        for w in widths:
            layers += [nn.Conv2d(prev, w, 3, stride=2, padding=1), Res(w)]
            prev = w
        self.net = nn.Sequential(*layers, nn.Conv2d(prev, 2 * latent, 1))

    def forward(self, x):
        return self.net(x).chunk(2, dim=1)


class Decoder(nn.Module):
    def __init__(self, widths=(256, 128, 64), latent=8):
        super().__init__()
        layers, prev = [nn.Conv2d(latent, widths[0], 3, padding=1)], widths[0]
        for w in widths:
            layers += [nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(prev, w, 3, padding=1), Res(w)]
            prev = w
        self.net = nn.Sequential(*layers, nn.Conv2d(prev, 3, 3, padding=1), nn.Sigmoid())

    def forward(self, z):
        return self.net(z)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = Encoder(), Decoder()

    def forward(self, x):
        mu, logvar = self.encoder(x)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.decoder(z), mu, logvar


@torch.compile
def elbo(recon, x, mu, logvar, beta):
    rec = F.l1_loss(recon, x, reduction="none").sum((1, 2, 3)).mean() + F.mse_loss(recon, x)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum((1, 2, 3)).mean()
    return rec + beta * kl, rec.detach(), kl.detach()


model = VAE().to(device, memory_format=torch.channels_last)
model.decoder = torch.compile(model.decoder)
opt = torch.optim.Adam(model.parameters(), lr=2e-4)
for step in range(5):
    x = torch.rand(16, 3, 192, 192, device=device).to(memory_format=torch.channels_last)
    recon, mu, logvar = model(x)
    loss, rec, kl = elbo(recon, x, mu, logvar, 0.1)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, rec.item(), kl.item())
with torch.no_grad():
    samples = model.decoder(torch.randn(16, 8, 24, 24, device=device))
print(samples.shape)
