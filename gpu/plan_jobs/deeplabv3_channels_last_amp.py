"""DeepLabV3-ResNet50 segmentation with auxiliary loss, channels_last, fp16 AMP and a poly schedule."""

import argparse

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision.models.segmentation import deeplabv3_resnet50


class RandomSegmentation(Dataset):
    def __init__(self, n, crop_size, num_classes):
        self.n, self.crop_size, self.num_classes = n, crop_size, num_classes

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        image = torch.randn(3, self.crop_size, self.crop_size)
        coarse = torch.randint(0, self.num_classes, (1, 1, 12, 12)).float()
        mask = F.interpolate(coarse, size=(self.crop_size, self.crop_size), mode="nearest")[0, 0].long()
        mask[:4] = 255
        return image, mask


def criterion(outputs, target):
    losses = {name: F.cross_entropy(x, target, ignore_index=255) for name, x in outputs.items()}
    return losses["out"] + 0.5 * losses["aux"]


def main(args):
    torch.manual_seed(args.seed)
    torch.backends.cudnn.benchmark = True
    device = torch.device("cuda")

    dataset = RandomSegmentation(args.batch_size * args.steps, args.crop_size, args.num_classes)
    loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True, num_workers=0, drop_last=True)

    model = deeplabv3_resnet50(weights=None, weights_backbone=None, num_classes=args.num_classes, aux_loss=True)
    model = model.to(device, memory_format=torch.channels_last)

    params = [
        {"params": model.backbone.parameters(), "lr": args.lr},
        {"params": model.classifier.parameters(), "lr": args.lr},
        {"params": model.aux_classifier.parameters(), "lr": args.lr * 10},
    ]
    optimizer = torch.optim.SGD(params, lr=args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=args.steps, power=0.9)
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**12)

    model.train()
    for step, (image, target) in enumerate(loader):
        image = image.to(device, memory_format=torch.channels_last)
        target = target.to(device)
        with torch.autocast("cuda", dtype=torch.float16):
            output = model(image)
            loss = criterion(output, target)

        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        print(f"step {step} loss {loss.item():.4f}")

    model.eval()
    with torch.inference_mode(), torch.autocast("cuda", dtype=torch.float16):
        pred = model(image)["out"].argmax(1)
    print("pixel acc", (pred == target)[target != 255].float().mean().item())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--crop-size", type=int, default=480)
    parser.add_argument("--num-classes", type=int, default=21)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    main(parser.parse_args())
