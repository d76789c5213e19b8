"""V-Net on made-up CT volumes: fp32 weights, bf16 autocast, soft Dice loss."""
import torch
import torch.nn as nn


class Stage(nn.Module):
    """n 5x5x5 convolutions with a residual connection around them."""

    def __init__(self, channels, n):
        super().__init__()
        layers = []
        for i in range(n):
            layers += [nn.Conv3d(channels, channels, 5, padding=2), nn.BatchNorm3d(channels)]
            if i < n - 1:
                layers.append(nn.PReLU(channels))
        self.body = nn.Sequential(*layers)
        self.act = nn.PReLU(channels)

    def forward(self, x):
        return self.act(self.body(x) + x)


class Up(nn.Module):
    def __init__(self, cin, cout, n):
        super().__init__()
        self.up = nn.Sequential(nn.ConvTranspose3d(cin, cout, 2, stride=2), nn.BatchNorm3d(cout), nn.PReLU(cout))
        self.merge = nn.Conv3d(2 * cout, cout, 1)
        self.stage = Stage(cout, n)

    def forward(self, x, skip):
        x = torch.cat([self.up(x), skip], dim=1)
        return self.stage(self.merge(x))


class VNet(nn.Module):
    def __init__(self, classes=2, widths=(16, 32, 64, 128, 256), depths=(1, 2, 3, 3, 3)):
        super().__init__()
        self.stem = nn.Conv3d(1, widths[0], 5, padding=2)
        self.stages = nn.ModuleList(Stage(w, n) for w, n in zip(widths, depths))
        self.downs = nn.ModuleList(
            nn.Sequential(nn.Conv3d(a, b, 2, stride=2), nn.BatchNorm3d(b), nn.PReLU(b))
            for a, b in zip(widths[:-1], widths[1:])
        )
        self.ups = nn.ModuleList(
            Up(widths[i + 1], widths[i], depths[i]) for i in reversed(range(len(widths) - 1))
        )
        self.head = nn.Conv3d(widths[0], classes, 1)

    def forward(self, x):
        x = self.stages[0](self.stem(x))
        skips = []
        for down, stage in zip(self.downs, self.stages[1:]):
            skips.append(x)
            x = stage(down(x))
        for up in self.ups:
            x = up(x, skips.pop())
        return self.head(x)


def dice_loss(logits, target):
    prob = logits.float().softmax(dim=1)[:, 1]
    target = target.float()
    inter = (prob * target).sum(dim=(1, 2, 3))
    return (1 - (2 * inter + 1) / (prob.pow(2).sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3)) + 1)).mean()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = VNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, weight_decay=1e-5)
    for step in range(4):
        volume = torch.randn(2, 1, 128, 128, 96)
        mask = (volume[:, 0] > 0.8).to(torch.uint8)
        volume, mask = volume.to(device), mask.to(device)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(volume)
        loss = dice_loss(logits, mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} dice loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
