"""UNet++ (nested U-Net) with deep supervision, BCE + Dice, fp16 GradScaler, cudnn.benchmark on."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.backends.cudnn.benchmark = True

WIDTHS = [32, 64, 128, 256, 512]
BATCH = 12
SIZE = 512
STEPS = 6


class VGGBlock(nn.Module):
    def __init__(self, cin, cmid, cout):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cmid, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(cmid)
        self.conv2 = nn.Conv2d(cmid, cout, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(cout)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(x)))


class NestedUNet(nn.Module):
    def __init__(self, classes=1, cin=3):
        super().__init__()
        w = WIDTHS
        self.pool = nn.MaxPool2d(2, 2)
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.blocks = nn.ModuleDict()
        for i in range(5):
            self.blocks[f"{i}_0"] = VGGBlock(cin if i == 0 else w[i - 1], w[i], w[i])
        for j in range(1, 5):
            for i in range(5 - j):
                self.blocks[f"{i}_{j}"] = VGGBlock(w[i] * j + w[i + 1], w[i], w[i])
        self.heads = nn.ModuleList([nn.Conv2d(w[0], classes, 1) for _ in range(4)])

    def forward(self, x):
        f = {}
        for s in range(5):
            f[s, 0] = self.blocks[f"{s}_0"](x if s == 0 else self.pool(f[s - 1, 0]))
            for j in range(1, s + 1):
                i = s - j
                skips = [f[i, k] for k in range(j)]
                f[i, j] = self.blocks[f"{i}_{j}"](torch.cat(skips + [self.up(f[i + 1, j - 1])], 1))
        return [head(f[0, j + 1]) for j, head in enumerate(self.heads)]


def bce_dice(logits, target):
    bce = F.binary_cross_entropy_with_logits(logits, target)
    p = torch.sigmoid(logits).flatten(1)
    t = target.flatten(1)
    dice = (2 * (p * t).sum(1) + 1e-5) / (p.sum(1) + t.sum(1) + 1e-5)
    return 0.5 * bce + 1 - dice.mean()


def fake_batch(n, size):
    image = torch.randn(n, 3, size, size)
    blob = F.interpolate(torch.randn(n, 1, 8, 8), size=(size, size), mode="bicubic")
    return image.cuda(), (blob > 0.3).float().cuda()


torch.manual_seed(21)
model = NestedUNet().cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-4, weight_decay=1e-4)
scaler = torch.amp.GradScaler("cuda")

for step in range(STEPS):
    model.train()
    image, mask = fake_batch(BATCH, SIZE)
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        outputs = model(image)
        loss = sum(bce_dice(o, mask) for o in outputs) / len(outputs)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(f"step {step} loss {loss.item():.4f}")

model.eval()
with torch.no_grad(), torch.autocast("cuda", dtype=torch.float16):
    image, mask = fake_batch(4, SIZE * 2)
    pred = (model(image)[-1] > 0).float()
    iou = ((pred * mask).sum() / ((pred + mask) > 0).sum()).item()
print(f"val iou {iou:.4f}")
