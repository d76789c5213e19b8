"""3D residual U-Net with attention gates for organ segmentation in Lightning, 16-mixed, patch training,
sliding-window validation over a whole volume."""
import tempfile

import pytorch_lightning as pl
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

CLASSES = 5
PATCH = 96
VOLUME = (160, 192, 160)
BATCH = 4
STEPS = 6
WIDTHS = (32, 64, 128, 256)
WORKERS = 2


class FakeCT(Dataset):
    def __init__(self, n, shape, seed=0):
        self.n, self.shape, self.seed = n, shape, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed + i)
        volume = torch.randn(1, *self.shape, generator=g)
        coarse = torch.randint(0, CLASSES, (1, 1, 6, 6, 6), generator=g).float()
        label = F.interpolate(coarse, size=self.shape, mode="nearest")[0, 0].long()
        return volume, label


class ResBlock(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv3d(cin, cout, 3, stride, 1, bias=False),
            nn.InstanceNorm3d(cout, affine=True),
            nn.PReLU(),
            nn.Conv3d(cout, cout, 3, 1, 1, bias=False),
            nn.InstanceNorm3d(cout, affine=True),
        )
        self.skip = nn.Conv3d(cin, cout, 1, stride) if cin != cout or stride != 1 else nn.Identity()
        self.act = nn.PReLU()

    def forward(self, x):
        return self.act(self.body(x) + self.skip(x))


class AttentionGate(nn.Module):
    def __init__(self, cg, cx):
        super().__init__()
        self.wg = nn.Conv3d(cg, cx // 2, 1)
        self.wx = nn.Conv3d(cx, cx // 2, 1)
        self.psi = nn.Conv3d(cx // 2, 1, 1)

    def forward(self, g, x):
        return x * torch.sigmoid(self.psi(F.relu(self.wg(g) + self.wx(x))))


class AttentionResUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList()
        cin = 1
        for i, w in enumerate(WIDTHS):
            self.down.append(ResBlock(cin, w, stride=1 if i == 0 else 2))
            cin = w
        self.ups, self.gates, self.dec = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for hi, lo in zip(WIDTHS[:0:-1], WIDTHS[-2::-1]):
            self.ups.append(nn.ConvTranspose3d(hi, lo, 2, 2))
            self.gates.append(AttentionGate(lo, lo))
            self.dec.append(ResBlock(2 * lo, lo))
        self.out = nn.Conv3d(WIDTHS[0], CLASSES, 1)

    def forward(self, x):
        skips = []
        for block in self.down:
            x = block(x)
            skips.append(x)
        skips.pop()
        for up, gate, dec in zip(self.ups, self.gates, self.dec):
            x = up(x)
            x = dec(torch.cat([gate(x, skips.pop()), x], 1))
        return self.out(x)


def dice_ce(logits, y):
    p = logits.float().softmax(1)
    onehot = F.one_hot(y, CLASSES).permute(0, 4, 1, 2, 3).float()
    inter = (p * onehot).sum((2, 3, 4))
    dice = (2 * inter + 1) / (p.sum((2, 3, 4)) + onehot.sum((2, 3, 4)) + 1)
    return F.cross_entropy(logits, y) + 1 - dice.mean()


def sliding_window(net, volume, patch, overlap=0.5):
    stride = int(patch * (1 - overlap))
    _, _, D, H, W = volume.shape
    out = torch.zeros(1, CLASSES, D, H, W, device=volume.device)
    count = torch.zeros(1, 1, D, H, W, device=volume.device)

    def starts(n):
        s = list(range(0, n - patch + 1, stride))
        return s if s[-1] == n - patch else s + [n - patch]

    for z in starts(D):
        for y in starts(H):
            for x in starts(W):
                sl = (..., slice(z, z + patch), slice(y, y + patch), slice(x, x + patch))
                out[sl] += net(volume[sl]).float()
                count[sl] += 1
    return out / count


class Segmenter(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = AttentionResUNet()

    def training_step(self, batch, _):
        x, y = batch
        loss = dice_ce(self.net(x), y)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        pred = sliding_window(self.net, x, PATCH).argmax(1)
        self.log("acc", (pred == y).float().mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01, momentum=0.99, nesterov=True, weight_decay=3e-5)


def main():
    pl.seed_everything(5, workers=True)
    train = DataLoader(FakeCT(BATCH * STEPS, (PATCH,) * 3), batch_size=BATCH, num_workers=WORKERS, pin_memory=True)
    val = DataLoader(FakeCT(1, VOLUME, seed=777), batch_size=1)
    trainer = pl.Trainer(accelerator="gpu", devices=1, precision="16-mixed", max_epochs=1, logger=False,
                         enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                         num_sanity_val_steps=0, gradient_clip_val=12.0, default_root_dir=tempfile.gettempdir())
    trainer.fit(Segmenter(), train, val)
    print({k: float(v) for k, v in trainer.callback_metrics.items()})


if __name__ == "__main__":
    main()
