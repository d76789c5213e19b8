"""A vision loop with workers, pinned memory, channels last, SGD with momentum, and accuracy after every epoch."""

import torch
import torchvision
from torch.utils.data import DataLoader
from torchvision.transforms import v2


class Images(torch.utils.data.Dataset):
    transform = v2.Compose([v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.5] * 3)])

    def __len__(self):
        return 320

    def __getitem__(self, index):
        return self.transform(torch.randint(0, 256, (3, 64, 64), dtype=torch.uint8)), index % 100


def accuracy(output, target, topk=(1, 5)):
    pred = output.topk(max(topk), 1, True, True)[1].t()
    correct = pred.eq(target.view(1, -1).expand_as(pred))
    return [correct[:k].reshape(-1).float().sum(0).mul_(100 / target.size(0)) for k in topk]


def main():
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = True
    model = torchvision.models.resnet18(num_classes=100).to(device, memory_format=torch.channels_last)
    criterion = torch.nn.CrossEntropyLoss().to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30, gamma=0.1)
    settings = {"batch_size": 64, "num_workers": 2, "pin_memory": True, "persistent_workers": True}
    train_loader = DataLoader(Images(), shuffle=True, **settings)
    val_loader = DataLoader(Images(), **settings)
    for epoch in range(90):
        model.train()
        for images, target in train_loader:
            images = images.to(device, non_blocking=True, memory_format=torch.channels_last)
            target = target.to(device, non_blocking=True)
            output = model(images)
            loss = criterion(output, target)
            acc1, acc5 = accuracy(output, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"{epoch} loss {loss.item():.3f} acc1 {acc1.item():.1f} acc5 {acc5.item():.1f}")
        model.eval()
        with torch.no_grad():
            for images, target in val_loader:
                accuracy(model(images.to(device, non_blocking=True)), target.to(device, non_blocking=True))
        scheduler.step()


if __name__ == "__main__":
    main()
