"""CycleGAN: two ResNet-9 generators, two PatchGAN critics, LSGAN losses, identity loss and a 50-image history pool."""
import itertools
import random

import torch
import torch.nn as nn

BATCH = 4
SIZE = 256
NGF = 64
STEPS = 8
LAMBDA = 10.0
POOL = 50


class ResnetBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.block = nn.Sequential(
            nn.ReflectionPad2d(1), nn.Conv2d(dim, dim, 3), nn.InstanceNorm2d(dim), nn.ReLU(True),
            nn.ReflectionPad2d(1), nn.Conv2d(dim, dim, 3), nn.InstanceNorm2d(dim),
        )

    def forward(self, x):
        return x + self.block(x)


def generator(ngf=NGF, blocks=9):
    layers = [nn.ReflectionPad2d(3), nn.Conv2d(3, ngf, 7), nn.InstanceNorm2d(ngf), nn.ReLU(True)]
    for i in range(2):
        c = ngf * 2**i
        layers += [nn.Conv2d(c, 2 * c, 3, 2, 1), nn.InstanceNorm2d(2 * c), nn.ReLU(True)]
    layers += [ResnetBlock(4 * ngf) for _ in range(blocks)]
    for i in range(2):
        c = ngf * 2 ** (2 - i)
        layers += [nn.ConvTranspose2d(c, c // 2, 3, 2, 1, output_padding=1), nn.InstanceNorm2d(c // 2), nn.ReLU(True)]
    layers += [nn.ReflectionPad2d(3), nn.Conv2d(ngf, 3, 7), nn.Tanh()]
    return nn.Sequential(*layers)


def discriminator(ndf=64):
    layers = [nn.Conv2d(3, ndf, 4, 2, 1), nn.LeakyReLU(0.2, True)]
    c = ndf
    for n, stride in ((2, 2), (4, 2), (8, 1)):
        layers += [nn.Conv2d(c, ndf * n, 4, stride, 1), nn.InstanceNorm2d(ndf * n), nn.LeakyReLU(0.2, True)]
        c = ndf * n
    return nn.Sequential(*layers, nn.Conv2d(c, 1, 4, 1, 1))


class ImagePool:
    def __init__(self, size):
        self.size, self.images = size, []

    def query(self, images):
        out = []
        for image in images:
            image = image.detach().unsqueeze(0)
            if len(self.images) < self.size:
                self.images.append(image)
                out.append(image)
            elif random.random() > 0.5:
                k = random.randrange(self.size)
                out.append(self.images[k].clone())
                self.images[k] = image
            else:
                out.append(image)
        return torch.cat(out)


def init_weights(m):
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(m.weight, 0.0, 0.02)
        nn.init.zeros_(m.bias)


def gan(pred, real):
    return nn.functional.mse_loss(pred, torch.ones_like(pred) if real else torch.zeros_like(pred))


def set_requires_grad(nets, flag):
    for net in nets:
        for p in net.parameters():
            p.requires_grad_(flag)


def main():
    random.seed(1)
    torch.manual_seed(1)
    device = torch.device("cuda")
    G_A, G_B, D_A, D_B = (m.apply(init_weights).to(device) for m in (generator(), generator(), discriminator(),
                                                                      discriminator()))
    opt_G = torch.optim.Adam(itertools.chain(G_A.parameters(), G_B.parameters()), lr=2e-4, betas=(0.5, 0.999))
    opt_D = torch.optim.Adam(itertools.chain(D_A.parameters(), D_B.parameters()), lr=2e-4, betas=(0.5, 0.999))
    pool_A, pool_B = ImagePool(POOL), ImagePool(POOL)
    l1 = nn.L1Loss()

    for step in range(STEPS):
        real_A = torch.rand(BATCH, 3, SIZE, SIZE).mul_(2).sub_(1).to(device)
        real_B = torch.rand(BATCH, 3, SIZE, SIZE).mul_(2).sub_(1).to(device)

        fake_B = G_A(real_A)
        rec_A = G_B(fake_B)
        fake_A = G_B(real_B)
        rec_B = G_A(fake_A)

        set_requires_grad([D_A, D_B], False)
        opt_G.zero_grad()
        loss_idt = (l1(G_A(real_B), real_B) + l1(G_B(real_A), real_A)) * LAMBDA * 0.5
        loss_gan = gan(D_A(fake_B), True) + gan(D_B(fake_A), True)
        loss_cycle = (l1(rec_A, real_A) + l1(rec_B, real_B)) * LAMBDA
        loss_G = loss_gan + loss_cycle + loss_idt
        loss_G.backward()
        opt_G.step()

        set_requires_grad([D_A, D_B], True)
        opt_D.zero_grad()
        loss_D = 0.0
        for D, real, fake, pool in ((D_A, real_B, fake_B, pool_B), (D_B, real_A, fake_A, pool_A)):
            loss = 0.5 * (gan(D(real), True) + gan(D(pool.query(fake)), False))
            loss.backward()
            loss_D += loss.item()
        opt_D.step()
        print(f"step {step} G {loss_G.item():.3f} D {loss_D:.3f} cycle {loss_cycle.item():.3f}")


if __name__ == "__main__":
    main()
