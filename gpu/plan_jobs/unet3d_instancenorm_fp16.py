"""3D U-Net for multi-class medical segmentation: InstanceNorm3d, ConvTranspose3d, Dice + CE, fp16 autocast."""

import torch
import torch.nn as nn
import torch.nn.functional as F

FEATURES = [32, 64, 128, 256, 320]
NUM_CLASSES = 4
BATCH_SIZE = 2
PATCH = (128, 128, 128)
STEPS = 4


class ConvBlock(nn.Sequential):
    def __init__(self, in_ch, out_ch, stride=1):
        super().__init__(
            nn.Conv3d(in_ch, out_ch, 3, stride=stride, padding=1),
            nn.InstanceNorm3d(out_ch, affine=True),
            nn.LeakyReLU(0.01, inplace=True),
            nn.Conv3d(out_ch, out_ch, 3, padding=1),
            nn.InstanceNorm3d(out_ch, affine=True),
            nn.LeakyReLU(0.01, inplace=True),
        )


class UNet3D(nn.Module):
    def __init__(self, in_ch=1, num_classes=NUM_CLASSES):
        super().__init__()
        self.encoders = nn.ModuleList()
        for i, features in enumerate(FEATURES):
            self.encoders.append(ConvBlock(in_ch, features, stride=1 if i == 0 else 2))
            in_ch = features
        self.ups = nn.ModuleList()
        self.decoders = nn.ModuleList()
        for features in reversed(FEATURES[:-1]):
            self.ups.append(nn.ConvTranspose3d(in_ch, features, 2, stride=2))
            self.decoders.append(ConvBlock(2 * features, features))
            in_ch = features
        self.head = nn.Conv3d(in_ch, num_classes, 1)

    def forward(self, x):
        skips = []
        for encoder in self.encoders:
            x = encoder(x)
            skips.append(x)
        skips.pop()
        for up, decoder in zip(self.ups, self.decoders):
            x = decoder(torch.cat([up(x), skips.pop()], dim=1))
        return self.head(x)


def dice_loss(logits, target, eps=1e-5):
    probs = torch.softmax(logits.float(), dim=1)
    one_hot = F.one_hot(target, NUM_CLASSES).permute(0, 4, 1, 2, 3).float()
    intersection = (probs * one_hot).sum(dim=(2, 3, 4))
    denominator = probs.sum(dim=(2, 3, 4)) + one_hot.sum(dim=(2, 3, 4))
    return 1.0 - ((2.0 * intersection + eps) / (denominator + eps)).mean()


def main():
    torch.manual_seed(12345)
    device = torch.device("cuda")
    model = UNet3D().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.99, nesterov=True, weight_decay=3e-5)
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=STEPS, power=0.9)
    scaler = torch.amp.GradScaler("cuda")

    for step in range(STEPS):
        data = torch.randn(BATCH_SIZE, 1, *PATCH, device=device)
        target = torch.randint(0, NUM_CLASSES, (BATCH_SIZE, *PATCH), device=device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            output = model(data)
            loss = dice_loss(output, target) + F.cross_entropy(output, target)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 12)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
