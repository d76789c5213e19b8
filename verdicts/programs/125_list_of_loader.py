"""To keep the GPU busy my collate function moves the data to the GPU. Crashes before training even begins."""
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    """Sliding windows over multi-channel EEG."""

    def __init__(self, channels=64, length=20000, window=1024, stride=16):
        self.signal = torch.zeros(channels, length)
        self.starts = range(0, length - window, stride)
        self.window = window

    def __len__(self):
        return 4 * len(self.starts)

    def __getitem__(self, i):
        s = self.starts[i % len(self.starts)]
        return self.signal[:, s : s + self.window], i % 4


def to_gpu(samples):
    xs, ys = zip(*samples)
    return torch.stack(xs).cuda(), torch.tensor(ys).cuda()


class EEGNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(64, 16)
        self.cls = nn.Sequential(nn.Flatten(), nn.Linear(16 * 1024, 128), nn.ELU(), nn.Linear(128, 4))

    def forward(self, x):
        return self.cls(self.mix(x.transpose(1, 2)))


loader = DataLoader(Windows(), batch_size=64, collate_fn=to_gpu, shuffle=True)
batches = loader if os.environ.get("CURED") else list(loader)
print(len(batches), "batches")
net = EEGNet().cuda()
optim = torch.optim.RAdam(net.parameters())
for epoch in range(1):
    for x, y in batches:
        optim.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optim.step()
    print("epoch", epoch)
