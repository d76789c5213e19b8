"""LinkNet with a ResNet-34 encoder and transposed convolutions, fp16 autocast with GradScaler and NAdam."""
import argparse

import torch
import torch.nn as nn
from torchvision.models import resnet34


class DecoderBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        mid = cin // 4
        self.reduce = nn.Sequential(nn.Conv2d(cin, mid, 1, bias=False), nn.BatchNorm2d(mid), nn.ReLU(inplace=True))
        self.up = nn.Sequential(
            nn.ConvTranspose2d(mid, mid, 3, stride=2, padding=1, output_padding=1, bias=False),
            nn.BatchNorm2d(mid),
            nn.ReLU(inplace=True),
        )
        self.expand = nn.Sequential(nn.Conv2d(mid, cout, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))

    def forward(self, x):
        return self.expand(self.up(self.reduce(x)))


class LinkNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        net = resnet34(weights=None)
        self.stem = nn.Sequential(net.conv1, net.bn1, net.relu, net.maxpool)
        self.enc = nn.ModuleList([net.layer1, net.layer2, net.layer3, net.layer4])
        self.dec4 = DecoderBlock(512, 256)
        self.dec3 = DecoderBlock(256, 128)
        self.dec2 = DecoderBlock(128, 64)
        self.dec1 = DecoderBlock(64, 64)
        self.head = nn.Sequential(
            nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(32, classes, 1),
        )

    def forward(self, x):
        feats = []
        x = self.stem(x)
        for layer in self.enc:
            x = layer(x)
            feats.append(x)
        f1, f2, f3, f4 = feats
        x = self.dec4(f4) + f3
        x = self.dec3(x) + f2
        x = self.dec2(x) + f1
        return self.head(self.dec1(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--height", type=int, default=512)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=5)
    args = parser.parse_args()

    torch.manual_seed(7)
    model = LinkNet(classes=19).cuda()
    criterion = nn.CrossEntropyLoss(ignore_index=255)
    optimizer = torch.optim.NAdam(model.parameters(), lr=5e-4)
    scaler = torch.amp.GradScaler("cuda")

    model.train()
    for step in range(args.steps):
        images = torch.randn(args.batch, 3, args.height, args.width)
        labels = torch.randint(0, 19, (args.batch, args.height, args.width))
        labels[:, :16] = 255
        images = images.cuda(non_blocking=True)
        labels = labels.cuda(non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        print(step, loss.item())


if __name__ == "__main__":
    main()
