"""Progressive resizing: epochs 0-3 at small size run through overnight, and in the morning I find it crashed where the big images begin."""
import os

import torch
import torch.nn as nn
import torchvision

SCHEDULE = [(96, 128), (128, 128), (192, 128), (288, 128)]  # size, batch
if os.environ.get("CURED"):
    SCHEDULE = [(96, 128), (128, 128), (192, 64), (288, 32)]


def batches(size, batch, n=4):
    for _ in range(n):
        yield torch.rand(batch, 3, size, size, device="cuda"), torch.randint(0, 10, (batch,), device="cuda")


def one_epoch(model, optimizer, size, batch):
    for images, labels in batches(size, batch):
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    model = torchvision.models.resnet18(weights=None, num_classes=10).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    for epoch, (size, batch) in enumerate(SCHEDULE):
        print("epoch", epoch, "size", size, one_epoch(model, optimizer, size, batch), flush=True)


main()
