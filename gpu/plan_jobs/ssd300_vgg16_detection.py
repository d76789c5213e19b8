"""SSD300-VGG16 detection training with warmup, gradient clipping and a validation pass, fp32."""
import random

import torch
from torch.utils.data import DataLoader, Dataset
from torchvision.models.detection import ssd300_vgg16

NUM_CLASSES = 21
BATCH = 32
STEPS = 6
WORKERS = 4


class FakeVOC(Dataset):
    def __init__(self, n, seed=0):
        self.n, self.seed = n, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        rng = random.Random(self.seed + i)
        g = torch.Generator().manual_seed(self.seed + i)
        h, w = rng.choice([(375, 500), (500, 375), (333, 500), (500, 500)])
        image = torch.rand(3, h, w, generator=g)
        n = rng.randint(1, 8)
        xy = torch.rand(n, 2, generator=g) * torch.tensor([w * 0.6, h * 0.6])
        wh = 20 + torch.rand(n, 2, generator=g) * torch.tensor([w * 0.3, h * 0.3])
        boxes = torch.cat([xy, xy + wh], dim=1)
        labels = torch.randint(1, NUM_CLASSES, (n,), generator=g)
        return image, {"boxes": boxes, "labels": labels}


def collate(batch):
    return tuple(zip(*batch))


def main():
    random.seed(0)
    torch.manual_seed(0)
    device = torch.device("cuda")

    model = ssd300_vgg16(weights=None, weights_backbone=None, num_classes=NUM_CLASSES, trainable_backbone_layers=5)
    model.to(device)
    biases = [p for n, p in model.named_parameters() if n.endswith("bias")]
    weights = [p for n, p in model.named_parameters() if not n.endswith("bias")]
    optimizer = torch.optim.SGD(
        [{"params": biases, "lr": 2e-3, "weight_decay": 0.0}, {"params": weights}],
        lr=1e-3, momentum=0.9, weight_decay=5e-4,
    )
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.001, total_iters=STEPS)

    train_loader = DataLoader(FakeVOC(BATCH * STEPS), batch_size=BATCH, shuffle=True, num_workers=WORKERS,
                              collate_fn=collate, drop_last=True)
    val_loader = DataLoader(FakeVOC(BATCH * 2, seed=9000), batch_size=BATCH, num_workers=WORKERS,
                            collate_fn=collate)

    model.train()
    for step, (images, targets) in enumerate(train_loader):
        images = [im.to(device) for im in images]
        targets = [{k: v.to(device) for k, v in t.items()} for t in targets]
        losses = model(images, targets)
        loss = sum(losses.values())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        warmup.step()
        print(f"step {step}", {k: round(v.item(), 3) for k, v in losses.items()})

    model.eval()
    detections = 0
    with torch.inference_mode():
        for images, _ in val_loader:
            out = model([im.to(device) for im in images])
            detections += sum(len(o["boxes"]) for o in out)
    print("detections", detections)


if __name__ == "__main__":
    main()
