"""Extracting features of the whole test set under no_grad goes through all batches fine, and fails after the loop, on a torch.cat."""
import os

import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Linear(16 * 16 * 3, 768)
        self.mix = nn.ModuleList([nn.TransformerEncoderLayer(768, 12, 1536, batch_first=True) for _ in range(3)])

    def forward(self, patches):
        h = self.patch(patches)
        for m in self.mix:
            h = m(h)
        return h


@torch.no_grad()
def extract(encoder, loader):
    features = []
    for patches in loader:
        out = encoder(patches.cuda())
        features.append(out.cpu() if os.environ.get("CURED") else out)
    print("all", len(features), "batches done", flush=True)
    return torch.cat(features)


encoder = Encoder().cuda().eval()
test_set = (torch.zeros(16, 196, 768) for _ in range(100))
features = extract(encoder, test_set)
print(features.shape)
