"""Only extracting wav features with a pretrained-like encoder, no training at all (no optimizer!). Memory grows with each file until CUDA is out of memory."""
import os
from itertools import islice

import torch
import torch.nn as nn


class WaveEncoder(nn.Module):
    def __init__(self, frame=320, d=512, layers=4):
        super().__init__()
        self.frame = frame
        self.inp = nn.Linear(frame, d)
        self.enc = nn.ModuleList(nn.TransformerEncoderLayer(d, 8, 2 * d, batch_first=True, norm_first=True) for _ in range(layers))

    def forward(self, wav):
        x = self.inp(wav.unfold(-1, self.frame, self.frame))
        for layer in self.enc:
            x = layer(x)
        return x.mean(1)


def files():
    while True:
        yield torch.zeros(1, 320 * 500)


def extract(model, n):
    model.eval()
    table = {}
    for i, wav in enumerate(islice(files(), n)):
        if os.environ.get("CURED"):
            with torch.inference_mode():
                table[f"utt{i}"] = model(wav.cuda()).cpu()
        else:
            table[f"utt{i}"] = model(wav.cuda())
        if i % 10 == 0:
            print("file", i, flush=True)
    return torch.cat(list(table.values()))


with torch.device("cuda"):
    model = WaveEncoder()
print(extract(model, 150).shape)
