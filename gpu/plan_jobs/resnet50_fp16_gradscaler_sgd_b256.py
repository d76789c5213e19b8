"""ImageNet style resnet50 training: batch 256, fp16 autocast with GradScaler, channels_last, SGD with momentum."""

import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision.datasets import FakeData
from torchvision.models import resnet50
from torchvision.transforms import v2


def accuracy(output, target, topk=(1, 5)):
    _, pred = output.topk(max(topk), 1, True, True)
    correct = pred.t().eq(target.view(1, -1))
    return [correct[:k].reshape(-1).float().sum().item() * 100.0 / target.size(0) for k in topk]


def train_one_epoch(model, loader, criterion, optimizer, scheduler, scaler):
    model.train()
    for i, (images, target) in enumerate(loader):
        images = images.cuda(non_blocking=True).to(memory_format=torch.channels_last)
        target = target.cuda(non_blocking=True)
        with torch.autocast("cuda", dtype=torch.float16):
            output = model(images)
            loss = criterion(output, target)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        print(f"[{i}/{len(loader)}] loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.4f}")


@torch.no_grad()
def validate(model, loader):
    model.eval()
    for images, target in loader:
        images = images.cuda(non_blocking=True).to(memory_format=torch.channels_last)
        with torch.autocast("cuda", dtype=torch.float16):
            output = model(images)
        acc1, acc5 = accuracy(output, target.cuda())
    print(f"acc@1 {acc1:.3f} acc@5 {acc5:.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--lr", type=float, default=0.1)
    args = parser.parse_args()

    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    model = resnet50(num_classes=1000).cuda().to(memory_format=torch.channels_last)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps)
    scaler = torch.amp.GradScaler("cuda")

    transform = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.25] * 3)])
    train_set = FakeData(args.batch_size * args.steps, (3, 224, 224), 1000, transform=transform)
    val_set = FakeData(args.batch_size, (3, 224, 224), 1000, transform=transform, random_offset=10_000)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, pin_memory=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size, pin_memory=True)

    train_one_epoch(model, train_loader, criterion, optimizer, scheduler, scaler)
    validate(model, val_loader)


if __name__ == "__main__":
    main()
