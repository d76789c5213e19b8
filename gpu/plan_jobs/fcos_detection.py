"""Training torchvision's FCOS detector on made-up images of different sizes with made-up boxes."""
import random

import torch
from torch.utils.data import DataLoader, Dataset
from torchvision.models.detection import fcos_resnet50_fpn

CLASSES = 21


class FakeVOC(Dataset):
    def __init__(self, n, seed=0):
        self.rng = random.Random(seed)
        self.specs = []
        for _ in range(n):
            h, w = self.rng.choice([(375, 500), (333, 500), (500, 375), (500, 500), (442, 500)])
            boxes = []
            for _ in range(self.rng.randint(1, 8)):
                x, y = self.rng.uniform(0, w * 0.7), self.rng.uniform(0, h * 0.7)
                bw, bh = self.rng.uniform(20, w * 0.3), self.rng.uniform(20, h * 0.3)
                boxes.append([x, y, x + bw, y + bh])
            labels = [self.rng.randint(1, CLASSES - 1) for _ in boxes]
            self.specs.append((h, w, boxes, labels))

    def __len__(self):
        return len(self.specs)

    def __getitem__(self, i):
        h, w, boxes, labels = self.specs[i]
        gen = torch.Generator().manual_seed(i)
        image = torch.rand(3, h, w, generator=gen)
        return image, {"boxes": torch.tensor(boxes), "labels": torch.tensor(labels)}


def collate(batch):
    return tuple(zip(*batch))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = fcos_resnet50_fpn(
        weights=None,
        weights_backbone=None,
        num_classes=CLASSES,
        min_size=640,
        max_size=1066,
    )
    model.to(device).train()
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=0.0005, momentum=0.9, weight_decay=1e-4)
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=4)
    loader = DataLoader(FakeVOC(32), batch_size=8, collate_fn=collate)

    for step, (images, targets) in enumerate(loader):
        images = [image.to(device) for image in images]
        targets = [{k: v.to(device) for k, v in t.items()} for t in targets]
        losses = model(images, targets)
        loss = sum(losses.values())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 10.0)
        optimizer.step()
        warmup.step()
        print(f"step {step}", {k: round(v.item(), 4) for k, v in losses.items()})


if __name__ == "__main__":
    main()
