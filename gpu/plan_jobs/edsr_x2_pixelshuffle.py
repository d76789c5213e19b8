"""EDSR (32 residual blocks, 256 features) x2 super-resolution training with PixelShuffle and L1 loss."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SCALE = 2
PATCH = 96
BATCH_SIZE = 16
STEPS = 4


class RandomPatches(Dataset):
    def __init__(self, length):
        self.hr = torch.rand(length, 3, PATCH * SCALE, PATCH * SCALE)

    def __len__(self):
        return self.hr.size(0)

    def __getitem__(self, index):
        hr = self.hr[index] * 255.0
        lr = F.avg_pool2d(hr.unsqueeze(0), SCALE).squeeze(0)
        return lr, hr


class ResBlock(nn.Module):
    def __init__(self, n_feats, res_scale):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(n_feats, n_feats, 3, padding=1), nn.ReLU(True), nn.Conv2d(n_feats, n_feats, 3, padding=1)
        )
        self.res_scale = res_scale

    def forward(self, x):
        res = self.body(x).mul(self.res_scale)
        res += x
        return res


class EDSR(nn.Module):
    def __init__(self, n_resblocks=32, n_feats=256, res_scale=0.1):
        super().__init__()
        self.register_buffer("mean", 255.0 * torch.tensor([0.4488, 0.4371, 0.4040]).view(1, 3, 1, 1))
        self.head = nn.Conv2d(3, n_feats, 3, padding=1)
        body = [ResBlock(n_feats, res_scale) for _ in range(n_resblocks)]
        body.append(nn.Conv2d(n_feats, n_feats, 3, padding=1))
        self.body = nn.Sequential(*body)
        self.tail = nn.Sequential(
            nn.Conv2d(n_feats, n_feats * SCALE**2, 3, padding=1),
            nn.PixelShuffle(SCALE),
            nn.Conv2d(n_feats, 3, 3, padding=1),
        )

    def forward(self, x):
        x = self.head(x - self.mean)
        res = self.body(x)
        res += x
        return self.tail(res) + self.mean


def main():
    torch.manual_seed(1)
    device = torch.device("cuda")
    model = EDSR().to(device)
    loader = DataLoader(RandomPatches(BATCH_SIZE * STEPS), batch_size=BATCH_SIZE, shuffle=True, num_workers=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.999), eps=1e-8)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[2], gamma=0.5)
    criterion = nn.L1Loss()

    model.train()
    for i, (lr, hr) in enumerate(loader):
        lr, hr = lr.to(device), hr.to(device)
        optimizer.zero_grad()
        sr = model(lr)
        loss = criterion(sr, hr)
        loss.backward()
        optimizer.step()
        scheduler.step()
        print(f"[{i + 1}/{len(loader)}] L1: {loss.item():.3f}")

    model.eval()
    with torch.no_grad():
        sr = model(lr[:4]).clamp(0, 255)
        mse = F.mse_loss(sr / 255.0, hr[:4] / 255.0)
    print(f"PSNR: {-10 * torch.log10(mse).item():.2f}")


if __name__ == "__main__":
    main()
