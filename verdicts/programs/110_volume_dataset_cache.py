"""Reading CT volumes is slow, so my Dataset remembers them. The first epoch never gets to its end on an 8 GB card (or any card I tried)."""
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

DEVICE = torch.device("cuda")


class CTScans(Dataset):
    def __init__(self, n_scans):
        self.n = n_scans
        self.cache = {}

    def _read(self, i):
        return torch.empty(1, 96, 96, 96).fill_(i / self.n)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if os.environ.get("CURED"):
            return self._read(i), i % 2
        if i not in self.cache:
            self.cache[i] = self._read(i).to(DEVICE)
        return self.cache[i], i % 2


class PatchClassifier(nn.Module):
    def __init__(self, patch=16):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(patch ** 3, 256)
        self.mix = nn.TransformerEncoderLayer(256, 8, 512, batch_first=True)
        self.head = nn.Linear(256, 2)

    def forward(self, v):
        p = self.patch
        t = v.unfold(2, p, p).unfold(3, p, p).unfold(4, p, p).reshape(len(v), -1, p ** 3)
        return self.head(self.mix(self.embed(t)).mean(1))


def main():
    loader = DataLoader(CTScans(900), batch_size=6, shuffle=True)
    model = PatchClassifier().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step, (scans, labels) in enumerate(loader):
        scans, labels = scans.to(DEVICE), labels.to(DEVICE)
        loss = nn.functional.cross_entropy(model(scans), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"[{step}/{len(loader)}]", flush=True)


if __name__ == "__main__":
    main()
