"""A detector of torchvision's, trained on boxes."""

import argparse

import torch
import torchvision

parser = argparse.ArgumentParser()
parser.add_argument("--model", default="ssdlite320_mobilenet_v3_large")
parser.add_argument("--batch", type=int, default=16)
args = parser.parse_args()

model = torchvision.models.get_model(args.model, weights=None, weights_backbone=None, num_classes=20).cuda().train()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for step in range(6):
    images = [torch.rand(3, 320, 320, device="cuda") for _ in range(args.batch)]
    corner = torch.rand(5, 2) * 200
    boxes = torch.cat([corner, corner + 60], 1).cuda()
    targets = [{"boxes": boxes, "labels": torch.arange(1, 6, device="cuda")} for _ in images]
    loss = sum(model(images, targets).values())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
