"""ShuffleNetV2 x1.5 in channels_last with stochastic weight averaging and a BatchNorm refresh at the end."""
import torch
import torch.nn.functional as F
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, Dataset
from torchvision.models import shufflenet_v2_x1_5

BATCH = 256
SIZE = 224


class FakePhotos(Dataset):
    def __init__(self, n, classes, seed=0):
        gen = torch.Generator().manual_seed(seed)
        self.base = torch.randn(16, 3, SIZE, SIZE, generator=gen)
        self.labels = torch.randint(0, classes, (n,), generator=gen)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = self.base[i % 16]
        if i % 2:
            image = image.flip(-1)
        return image, self.labels[i]


def train_epoch(model, loader, optimizer, device):
    model.train()
    for i, (images, labels) in enumerate(loader):
        images = images.to(device, memory_format=torch.channels_last)
        labels = labels.to(device)
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(images), labels, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        if i == 0:
            print("  loss", round(loss.item(), 4))


def main():
    torch.manual_seed(1)
    device = torch.device("cuda")
    loader = DataLoader(FakePhotos(3 * BATCH, 500), batch_size=BATCH, shuffle=True)

    model = shufflenet_v2_x1_5(weights=None, num_classes=500)
    model = model.to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9, nesterov=True, weight_decay=4e-5)
    swa_model = AveragedModel(model)
    swa_scheduler = SWALR(optimizer, swa_lr=0.05, anneal_epochs=1)

    for epoch in range(2):
        print("epoch", epoch)
        train_epoch(model, loader, optimizer, device)
        if epoch >= 1:
            swa_model.update_parameters(model)
            swa_scheduler.step()

    update_bn(loader, swa_model, device=device)

    swa_model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in loader:
            out = swa_model(images.to(device, memory_format=torch.channels_last))
            correct += (out.argmax(1) == labels.to(device)).sum()
    print("train accuracy", correct.item() / len(loader.dataset))


if __name__ == "__main__":
    main()
