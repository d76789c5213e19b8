"""RetinaNet (ResNet-50 FPN) training loop with bf16 autocast, Adam and gradient clipping."""

import random

import torch
from torchvision.models.detection import retinanet_resnet50_fpn


def random_batch(batch_size, num_classes):
    images, targets = [], []
    for _ in range(batch_size):
        h = random.choice([480, 544, 600])
        w = random.choice([640, 720, 800])
        images.append(torch.rand(3, h, w))
        n = random.randint(1, 15)
        x1 = torch.rand(n) * w * 0.7
        y1 = torch.rand(n) * h * 0.7
        x2 = x1 + 8 + torch.rand(n) * (w * 0.25)
        y2 = y1 + 8 + torch.rand(n) * (h * 0.25)
        boxes = torch.stack([x1, y1, x2, y2], dim=1)
        targets.append({"boxes": boxes, "labels": torch.randint(0, num_classes, (n,))})
    return images, targets


def main():
    random.seed(0)
    torch.manual_seed(0)
    device = torch.device("cuda")
    num_classes = 80

    model = retinanet_resnet50_fpn(
        weights=None, weights_backbone=None, num_classes=num_classes, min_size=640, max_size=1024
    )
    model.to(device).train()

    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)

    for step in range(5):
        images, targets = random_batch(6, num_classes)
        images = [img.cuda() for img in images]
        targets = [{k: v.cuda() for k, v in t.items()} for t in targets]

        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            losses = model(images, targets)
            loss = losses["classification"] + losses["bbox_regression"]

        if not torch.isfinite(loss):
            print("loss is not finite, skipping")
            continue

        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        print(
            f"step {step} cls {losses['classification'].item():.4f} reg {losses['bbox_regression'].item():.4f} "
            f"total {loss.item():.4f}"
        )


if __name__ == "__main__":
    main()
