"""Train a torchvision r3d_18 clip classifier on synthetic videos with bf16 autocast."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision.models.video import r3d_18

BATCH_SIZE = 24
FRAMES = 16
CROP = 112
NUM_CLASSES = 101
STEPS = 4


class RandomClips(Dataset):
    def __init__(self, length, seed=0):
        self.length = length
        self.seed = seed

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(self.seed + index)
        clip = torch.rand(3, FRAMES, CROP, CROP, generator=g)
        label = torch.randint(0, NUM_CLASSES, (1,), generator=g).item()
        return (clip - 0.45) / 0.225, label


def train(model, loader, criterion, optimizer, scheduler, device):
    model.train()
    for step, (clips, labels) in enumerate(loader):
        clips = clips.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(clips)
            loss = criterion(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        print(f"step {step} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.5f}")


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    correct, total = 0, 0
    for clips, labels in loader:
        clips, labels = clips.to(device), labels.to(device)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(clips)
        correct += (logits.argmax(dim=1) == labels).sum().item()
        total += labels.numel()
    return correct / total


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")

    model = r3d_18(weights=None, num_classes=NUM_CLASSES).to(device)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, nesterov=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=STEPS)

    train_loader = DataLoader(
        RandomClips(BATCH_SIZE * STEPS), batch_size=BATCH_SIZE, shuffle=True, num_workers=0, pin_memory=True
    )
    val_loader = DataLoader(RandomClips(BATCH_SIZE, seed=10_000), batch_size=BATCH_SIZE, num_workers=0)

    train(model, train_loader, criterion, optimizer, scheduler, device)
    print(f"val acc {evaluate(model, val_loader, device):.3f}")


if __name__ == "__main__":
    main()
