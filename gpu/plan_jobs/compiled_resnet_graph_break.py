"""A small pre-activation ResNet with auxiliary head; the forward logs a statistic with .item(), which breaks the graph."""
import torch
import torch.nn as nn
import torch.nn.functional as F

history = []


class Bottleneck(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        mid = cout // 4
        self.bn1, self.conv1 = nn.BatchNorm2d(cin), nn.Conv2d(cin, mid, 1, bias=False)
        self.bn2, self.conv2 = nn.BatchNorm2d(mid), nn.Conv2d(mid, mid, 3, stride, 1, bias=False)
        self.bn3, self.conv3 = nn.BatchNorm2d(mid), nn.Conv2d(mid, cout, 1, bias=False)
        self.short = nn.Conv2d(cin, cout, 1, stride, bias=False) if stride != 1 or cin != cout else None

    def forward(self, x):
        out = F.relu(self.bn1(x))
        short = x if self.short is None else self.short(out)
        out = self.conv1(out)
        out = self.conv2(F.relu(self.bn2(out)))
        return self.conv3(F.relu(self.bn3(out))) + short


class Net(nn.Module):
    def __init__(self, classes=100):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.MaxPool2d(3, 2, 1))
        self.stage1 = nn.Sequential(Bottleneck(64, 256), Bottleneck(256, 256))
        self.stage2 = nn.Sequential(Bottleneck(256, 512, 2), Bottleneck(512, 512))
        self.stage3 = nn.Sequential(Bottleneck(512, 1024, 2), Bottleneck(1024, 1024))
        self.bn = nn.BatchNorm2d(1024)
        self.aux = nn.Linear(512, classes)
        self.fc = nn.Linear(1024, classes)

    def forward(self, x):
        x = self.stage2(self.stage1(self.stem(x)))
        history.append(x.abs().mean().item())  # watches for blow-ups
        aux = self.aux(x.mean((2, 3)))
        x = F.relu(self.bn(self.stage3(x)))
        print("features", tuple(x.shape))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1)), aux


def main():
    torch.manual_seed(0)
    net = Net().cuda().to(memory_format=torch.channels_last)
    model = torch.compile(net)
    scaler = torch.amp.GradScaler("cuda")
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    for step in range(5):
        x = torch.randn(128, 3, 192, 192).cuda(non_blocking=True).to(memory_format=torch.channels_last)
        y = torch.randint(0, 100, (128,)).cuda(non_blocking=True)
        with torch.autocast("cuda", dtype=torch.float16):
            out, aux = model(x)
            loss = F.cross_entropy(out, y) + 0.4 * F.cross_entropy(aux, y)
        opt.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(net.parameters(), 2.0)
        scaler.step(opt)
        scaler.update()
        print(step, loss.item(), history[-1])


if __name__ == "__main__":
    main()
