"""Training with batch 4 takes little; the validation after the first epoch fails, although model.eval() is called."""
import contextlib
import os

import torch
import torch.nn.functional as F
import torchvision
from torch.utils.data import DataLoader, Dataset

device = torch.device("cuda")


class Streets(Dataset):
    def __init__(self, n, size=256):
        self.n, self.size = n, size

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return torch.rand(3, self.size, self.size), torch.randint(0, 19, (self.size, self.size))


def train_epoch(model, loader, optimizer):
    model.train()
    for images, masks in loader:
        loss = F.cross_entropy(model(images.to(device))["out"], masks.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def validate(model, loader):
    model.eval()
    hits = pixels = 0
    with torch.no_grad() if os.environ.get("CURED") else contextlib.nullcontext():
        for images, masks in loader:
            scores = model(images.to(device))["out"]
            hits += (scores.argmax(1) == masks.to(device)).sum().item()
            pixels += masks.numel()
    return hits / pixels


def main():
    model = torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=19)
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    train = DataLoader(Streets(40), batch_size=4, shuffle=True, drop_last=True)
    val = DataLoader(Streets(64), batch_size=32)
    for epoch in range(2):
        train_epoch(model, train, optimizer)
        print("epoch", epoch, "accuracy", validate(model, val), flush=True)


if __name__ == "__main__":
    main()
