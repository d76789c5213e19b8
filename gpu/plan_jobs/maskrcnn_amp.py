"""Mask R-CNN (ResNet-50 FPN) for one class of objects, mixed precision, Penn-Fudan tutorial style."""

import torch
from torch.utils.data import DataLoader, Dataset
from torchvision.models.detection import maskrcnn_resnet50_fpn


class BlobsDataset(Dataset):
    """Images with elliptic blobs; every blob is one instance."""

    def __init__(self, n, seed):
        self.n = n
        self.seed = seed

    def __len__(self):
        return self.n

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(self.seed + idx)
        h, w = [(400, 540), (360, 480), (420, 420)][idx % 3]
        img = torch.rand(3, h, w, generator=g)
        yy, xx = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        masks, boxes = [], []
        for _ in range(int(torch.randint(2, 7, (1,), generator=g))):
            cx, cy, rx, ry = torch.rand(4, generator=g).tolist()
            rx, ry = 15 + 60 * rx, 15 + 60 * ry
            cx, cy = rx + (w - 2 * rx) * cx, ry + (h - 2 * ry) * cy
            mask = (((xx - cx) / rx) ** 2 + ((yy - cy) / ry) ** 2) < 1
            masks.append(mask.to(torch.uint8))
            boxes.append([cx - rx, cy - ry, cx + rx, cy + ry])
        target = {
            "boxes": torch.tensor(boxes, dtype=torch.float32),
            "labels": torch.ones(len(boxes), dtype=torch.int64),
            "masks": torch.stack(masks),
            "image_id": idx,
        }
        return img, target


def to_device(targets, device):
    return [{k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in t.items()} for t in targets]


def main():
    torch.manual_seed(1)
    device = torch.device("cuda")

    model = maskrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=2, box_detections_per_img=50)
    model.to(device)

    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=0.002, momentum=0.9, weight_decay=0.0005)
    lr_scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
    scaler = torch.amp.GradScaler("cuda")

    collate = lambda batch: tuple(zip(*batch))  # noqa: E731
    data_loader = DataLoader(BlobsDataset(12, 0), batch_size=3, shuffle=True, collate_fn=collate)
    data_loader_test = DataLoader(BlobsDataset(2, 100), batch_size=1, collate_fn=collate)

    model.train()
    for it, (images, targets) in enumerate(data_loader):
        images = [image.to(device) for image in images]
        targets = to_device(targets, device)
        with torch.amp.autocast("cuda"):
            loss_dict = model(images, targets)
            losses = sum(loss_dict.values())
        optimizer.zero_grad()
        scaler.scale(losses).backward()
        scaler.step(optimizer)
        scaler.update()
        lr_scheduler.step()
        print(f"iter {it}: " + " ".join(f"{k}={v.item():.3f}" for k, v in loss_dict.items()))

    model.eval()
    with torch.no_grad():
        for images, _ in data_loader_test:
            pred = model([image.to(device) for image in images])[0]
            print("instances:", len(pred["scores"]), "mask tensor:", tuple(pred["masks"].shape))


if __name__ == "__main__":
    main()
