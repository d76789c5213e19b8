"""EfficientNet-B0 like MBConv network written by hand: RMSprop, EMA of the weights, channels_last, bf16 autocast."""

import torch
import torch.nn as nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

# expand ratio, kernel, stride, channels, repeats
STAGES = [
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
]


def conv_bn(in_ch, out_ch, kernel, stride=1, groups=1, act=True):
    layers = [nn.Conv2d(in_ch, out_ch, kernel, stride, kernel // 2, groups=groups, bias=False)]
    layers.append(nn.BatchNorm2d(out_ch, eps=1e-3, momentum=0.01))
    if act:
        layers.append(nn.SiLU(inplace=True))
    return nn.Sequential(*layers)


class SqueezeExcite(nn.Module):
    def __init__(self, channels, reduced):
        super().__init__()
        self.fc1 = nn.Conv2d(channels, reduced, 1)
        self.fc2 = nn.Conv2d(reduced, channels, 1)

    def forward(self, x):
        s = x.mean((2, 3), keepdim=True)
        return x * torch.sigmoid(self.fc2(nn.functional.silu(self.fc1(s))))


class MBConv(nn.Module):
    def __init__(self, in_ch, out_ch, expand, kernel, stride):
        super().__init__()
        mid = in_ch * expand
        self.residual = stride == 1 and in_ch == out_ch
        self.expand = conv_bn(in_ch, mid, 1) if expand != 1 else nn.Identity()
        self.depthwise = conv_bn(mid, mid, kernel, stride, groups=mid)
        self.se = SqueezeExcite(mid, max(1, in_ch // 4))
        self.project = conv_bn(mid, out_ch, 1, act=False)

    def forward(self, x):
        y = self.project(self.se(self.depthwise(self.expand(x))))
        return x + y if self.residual else y


class EfficientNet(nn.Module):
    def __init__(self, num_classes=1000):
        super().__init__()
        blocks, in_ch = [conv_bn(3, 32, 3, 2)], 32
        for expand, kernel, stride, out_ch, repeats in STAGES:
            for i in range(repeats):
                blocks.append(MBConv(in_ch, out_ch, expand, kernel, stride if i == 0 else 1))
                in_ch = out_ch
        blocks.append(conv_bn(in_ch, 1280, 1))
        self.features = nn.Sequential(*blocks)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, num_classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


torch.manual_seed(0)
device = torch.device("cuda")
model = EfficientNet().to(device, memory_format=torch.channels_last)
ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9999), use_buffers=True)
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.016, alpha=0.9, eps=1e-3, momentum=0.9, weight_decay=1e-5)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.97)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

for step in range(5):
    images = torch.randn(256, 3, 224, 224).to(device, memory_format=torch.channels_last)
    targets = torch.randint(0, 1000, (256,)).to(device)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = criterion(model(images), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    ema.update_parameters(model)
    print(f"step {step} loss {loss.item():.4f}")
