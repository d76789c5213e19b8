"""Distill a frozen FCN-ResNet101 teacher into LRASPP-MobileNetV3 on random street-like crops (pixel-wise KL + CE)."""
import argparse

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision.models.segmentation import fcn_resnet101, lraspp_mobilenet_v3_large


class FakeCityscapes(Dataset):
    def __init__(self, n, height, width, classes):
        self.n, self.hw, self.classes = n, (height, width), classes

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        image = torch.randn(3, *self.hw, generator=g)
        coarse = torch.randint(0, self.classes, (1, 1, 16, 32), generator=g).float()
        mask = F.interpolate(coarse, size=self.hw, mode="nearest")[0, 0].long()
        mask[torch.rand(self.hw, generator=g) < 0.02] = 255
        return image, mask


def distill_loss(student, teacher, T):
    s = F.log_softmax(student / T, dim=1)
    t = F.softmax(teacher / T, dim=1)
    return F.kl_div(s, t, reduction="none").sum(1).mean() * T * T


@torch.no_grad()
def mean_iou(model, loader, classes, device):
    model.eval()
    hist = torch.zeros(classes, classes, device=device)
    for x, y in loader:
        pred = model(x.to(device))["out"].argmax(1)
        y = y.to(device)
        keep = y != 255
        hist += torch.bincount(y[keep] * classes + pred[keep], minlength=classes**2).reshape(classes, classes)
    inter = hist.diag()
    return (inter / (hist.sum(0) + hist.sum(1) - inter).clamp(min=1)).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=12)
    parser.add_argument("--height", type=int, default=512)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--classes", type=int, default=19)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--temperature", type=float, default=2.0)
    parser.add_argument("--workers", type=int, default=4)
    args = parser.parse_args()

    torch.manual_seed(11)
    device = torch.device("cuda")
    teacher = fcn_resnet101(weights=None, weights_backbone=None, num_classes=args.classes).to(device).eval()
    teacher.requires_grad_(False)
    student = lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=args.classes).to(device)

    data = FakeCityscapes(args.batch_size * args.steps, args.height, args.width, args.classes)
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, num_workers=args.workers, pin_memory=True)
    val_loader = DataLoader(FakeCityscapes(4, 2 * args.height, 2 * args.width, args.classes), batch_size=2)

    optimizer = torch.optim.SGD(student.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=args.steps, power=0.9)

    student.train()
    for step, (x, y) in enumerate(loader):
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        with torch.no_grad():
            t = teacher(x)["out"]
        s = student(x)["out"]
        ce = F.cross_entropy(s, y, ignore_index=255)
        kd = distill_loss(s, t, args.temperature)
        loss = ce + 0.5 * kd
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        print(f"step {step} ce {ce.item():.3f} kd {kd.item():.3f}")
    print(f"mIoU {mean_iou(student, val_loader, args.classes, device):.4f}")


if __name__ == "__main__":
    main()
