"""DCGAN on 128x128 random images, after the PyTorch tutorial: two Adam optimizers, alternating updates."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(999)
device = torch.device("cuda")

batch_size = 256
nz = 100
ngf = 64
ndf = 64
nc = 3


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


def g_block(i, o, stride=2, padding=1):
    return [nn.ConvTranspose2d(i, o, 4, stride, padding, bias=False), nn.BatchNorm2d(o), nn.ReLU(True)]


def d_block(i, o):
    return [nn.Conv2d(i, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(0.2, inplace=True)]


netG = nn.Sequential(
    *g_block(nz, ngf * 16, 1, 0),
    *g_block(ngf * 16, ngf * 8),
    *g_block(ngf * 8, ngf * 4),
    *g_block(ngf * 4, ngf * 2),
    *g_block(ngf * 2, ngf),
    nn.ConvTranspose2d(ngf, nc, 4, 2, 1, bias=False),
    nn.Tanh(),
).to(device)
netD = nn.Sequential(
    nn.Conv2d(nc, ndf, 4, 2, 1, bias=False),
    nn.LeakyReLU(0.2, inplace=True),
    *d_block(ndf, ndf * 2),
    *d_block(ndf * 2, ndf * 4),
    *d_block(ndf * 4, ndf * 8),
    *d_block(ndf * 8, ndf * 16),
    nn.Conv2d(ndf * 16, 1, 4, 1, 0, bias=False),
    nn.Sigmoid(),
).to(device)
netG.apply(weights_init)
netD.apply(weights_init)

criterion = nn.BCELoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=0.0002, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=0.0002, betas=(0.5, 0.999))

dataloader = DataLoader(TensorDataset(torch.rand(batch_size * 4, nc, 128, 128) * 2 - 1), batch_size=batch_size)

for i, (data,) in enumerate(dataloader):
    # (1) update D: maximize log(D(x)) + log(1 - D(G(z)))
    netD.zero_grad()
    real = data.to(device)
    label = torch.full((real.size(0),), 1.0, dtype=torch.float, device=device)
    errD_real = criterion(netD(real).view(-1), label)
    errD_real.backward()

    noise = torch.randn(real.size(0), nz, 1, 1, device=device)
    fake = netG(noise)
    label.fill_(0.0)
    errD_fake = criterion(netD(fake.detach()).view(-1), label)
    errD_fake.backward()
    optimizerD.step()

    # (2) update G: maximize log(D(G(z)))
    netG.zero_grad()
    label.fill_(1.0)
    errG = criterion(netD(fake).view(-1), label)
    errG.backward()
    optimizerG.step()
    print(f"[{i}] Loss_D: {(errD_real + errD_fake).item():.4f} Loss_G: {errG.item():.4f}")

with torch.no_grad():
    fake = netG(torch.randn(64, nz, 1, 1, device=device)).detach().cpu()
print("sample grid", tuple(fake.shape), f"mean {fake.mean():.3f}")
