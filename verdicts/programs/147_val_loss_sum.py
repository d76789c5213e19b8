"""Training epoch passes, then validation (same batch size!) raises CUDA out of memory. I do call model.eval()."""
import os

import torch
import torch.nn as nn
import torchvision

device = "cuda"
model = torchvision.models.VisionTransformer(64, 8, 4, 6, 384, 1536, num_classes=20)
model.to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def batches(n):
    for _ in range(n):
        yield torch.rand(32, 3, 64, 64, device=device), torch.randint(0, 20, (32,), device=device)


def train_one_epoch():
    model.train()
    for x, y in batches(12):
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()


def validate():
    model.eval()
    val_loss = 0
    for i, (x, y) in enumerate(batches(40)):
        if os.environ.get("CURED"):
            with torch.no_grad():
                val_loss += criterion(model(x), y).item()
        else:
            val_loss += criterion(model(x), y)
        print("val batch", i, flush=True)
    return float(val_loss) / 40


for epoch in range(2):
    train_one_epoch()
    print("epoch", epoch, "trained", flush=True)
    print("val", validate())
