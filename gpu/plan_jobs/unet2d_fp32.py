"""Hand-written 2D U-Net with ConvTranspose2d upsampling, cross entropy + Dice, RMSprop."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Sequential):
    def __init__(self, c_in, c_out):
        super().__init__(
            nn.Conv2d(c_in, c_out, 3, padding=1, bias=False),
            nn.BatchNorm2d(c_out),
            nn.ReLU(inplace=True),
            nn.Conv2d(c_out, c_out, 3, padding=1, bias=False),
            nn.BatchNorm2d(c_out),
            nn.ReLU(inplace=True),
        )


class Up(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.up = nn.ConvTranspose2d(c_in, c_in // 2, kernel_size=2, stride=2)
        self.conv = DoubleConv(c_in, c_out)

    def forward(self, x, skip):
        x = self.up(x)
        dy, dx = skip.size(2) - x.size(2), skip.size(3) - x.size(3)
        x = F.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.conv(torch.cat([skip, x], dim=1))


class UNet(nn.Module):
    def __init__(self, n_channels, n_classes, widths=(64, 128, 256, 512, 1024)):
        super().__init__()
        self.inc = DoubleConv(n_channels, widths[0])
        self.downs = nn.ModuleList(DoubleConv(a, b) for a, b in zip(widths[:-1], widths[1:]))
        self.ups = nn.ModuleList(Up(b, a) for a, b in zip(widths[-2::-1], widths[:0:-1]))
        self.outc = nn.Conv2d(widths[0], n_classes, 1)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x):
        skips = [self.inc(x)]
        for down in self.downs:
            skips.append(down(self.pool(skips[-1])))
        x = skips.pop()
        for up in self.ups:
            x = up(x, skips.pop())
        return self.outc(x)


def dice_loss(logits, target, n_classes, eps=1e-6):
    probs = F.softmax(logits, dim=1)
    onehot = F.one_hot(target, n_classes).permute(0, 3, 1, 2).float()
    inter = 2 * (probs * onehot).sum(dim=(0, 2, 3))
    union = probs.sum(dim=(0, 2, 3)) + onehot.sum(dim=(0, 2, 3))
    return 1 - ((inter + eps) / (union + eps)).mean()


torch.manual_seed(0)
device = torch.device("cuda")
n_classes = 4
net = UNet(n_channels=1, n_classes=n_classes).to(device)
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-5, weight_decay=1e-8, momentum=0.9)

for epoch in range(4):
    images = torch.randn(6, 1, 300, 300, device=device)
    masks = torch.randint(0, n_classes, (6, 300, 300), device=device)
    optimizer.zero_grad(set_to_none=True)
    pred = net(images)
    loss = F.cross_entropy(pred, masks) + dice_loss(pred, masks, n_classes)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")

net.eval()
with torch.no_grad():
    pred = net(torch.randn(2, 1, 300, 300, device=device)).argmax(dim=1)
print("class histogram", torch.bincount(pred.flatten(), minlength=n_classes).tolist())
