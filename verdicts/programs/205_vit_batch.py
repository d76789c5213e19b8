"""Training a ViT on plant disease pictures. Copied the hyperparameters from the paper (batch 256) and get CUDA out of memory at once."""
import argparse
import os

import torch
import torchvision
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=32 if os.environ.get("CURED") else 256)
parser.add_argument("--lr", type=float, default=3e-4)
args = parser.parse_args()


class Leaves(Dataset):
    classes = 38

    def __len__(self):
        return 512

    def __getitem__(self, i):
        return torch.zeros(3, 224, 224), i % self.classes


loader = DataLoader(Leaves(), batch_size=args.batch_size, shuffle=True)
model = torchvision.models.vit_b_16(weights=None, num_classes=Leaves.classes).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
criterion = torch.nn.CrossEntropyLoss()

model.train()
for epoch in range(1):
    for n, (images, labels) in enumerate(loader):
        images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        output = model(images)
        loss = criterion(output, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"epoch {epoch} [{n}/{len(loader)}] {loss.item():.3f}", flush=True)
        if n == 5:
            break
