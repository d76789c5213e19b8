"""Train torchvision's Faster R-CNN (ResNet-50 FPN) on images of differing sizes, in fp32 with SGD."""

import torch
from torch.utils.data import DataLoader, Dataset
from torchvision.models.detection import fasterrcnn_resnet50_fpn

SIZES = [(480, 640), (427, 640), (640, 480), (375, 500), (512, 512), (640, 425)]


class RandomDetectionDataset(Dataset):
    def __init__(self, length, num_classes):
        self.length = length
        self.num_classes = num_classes

    def __len__(self):
        return self.length

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(idx)
        h, w = SIZES[idx % len(SIZES)]
        image = torch.rand(3, h, w, generator=g)
        n = int(torch.randint(1, 12, (1,), generator=g))
        xy = torch.rand(n, 2, generator=g) * torch.tensor([w * 0.6, h * 0.6])
        wh = (0.05 + 0.3 * torch.rand(n, 2, generator=g)) * torch.tensor([w, h])
        boxes = torch.cat([xy, xy + wh], dim=1)
        labels = torch.randint(1, self.num_classes, (n,), generator=g)
        return image, {"boxes": boxes, "labels": labels}


def collate_fn(batch):
    return tuple(zip(*batch))


def train_one_epoch(model, optimizer, loader, device):
    model.train()
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.001, total_iters=len(loader) - 1)
    for i, (images, targets) in enumerate(loader):
        images = [img.to(device) for img in images]
        targets = [{k: v.to(device) for k, v in t.items()} for t in targets]

        loss_dict = model(images, targets)
        losses = sum(loss for loss in loss_dict.values())

        optimizer.zero_grad()
        losses.backward()
        optimizer.step()
        warmup.step()
        print(i, {k: round(v.item(), 4) for k, v in loss_dict.items()})


@torch.inference_mode()
def evaluate(model, loader, device):
    model.eval()
    for images, _ in loader:
        outputs = model([img.to(device) for img in images])
        outputs = [{k: v.cpu() for k, v in o.items()} for o in outputs]
        print("detections per image:", [len(o["boxes"]) for o in outputs])


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    num_classes = 21

    dataset = RandomDetectionDataset(16, num_classes)
    dataset_test = RandomDetectionDataset(2, num_classes)
    loader = DataLoader(dataset, batch_size=4, shuffle=True, num_workers=0, collate_fn=collate_fn)
    loader_test = DataLoader(dataset_test, batch_size=1, num_workers=0, collate_fn=collate_fn)

    model = fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=num_classes)
    model.to(device)
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=0.005, momentum=0.9, weight_decay=0.0005)

    train_one_epoch(model, optimizer, loader, device)
    evaluate(model, loader_test, device)


if __name__ == "__main__":
    main()
