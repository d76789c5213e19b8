"""Char-level GRU on one long text. I had to add retain_graph=True because of "Trying to backward through the graph a second time"; now it gets slower with each chunk and then OOM."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

device = "cuda"
VOCAB, HID, CHUNK = 256, 1024, 8


class CharGRU(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 256)
        self.cell = nn.GRUCell(256, HID)
        self.out = nn.Linear(HID, VOCAB)

    def forward(self, chunk, h):
        logits = []
        for t in range(chunk.shape[1]):
            h = self.cell(self.emb(chunk[:, t]), h)
            logits.append(self.out(h))
        return torch.stack(logits, 1), h


def train(text, model, opt):
    h = torch.zeros(text.shape[0], HID, device=device)
    opt.zero_grad()
    for k, start in enumerate(range(0, text.shape[1] - CHUNK - 1, CHUNK)):
        x, y = text[:, start : start + CHUNK], text[:, start + 1 : start + CHUNK + 1]
        if os.environ.get("CURED"):
            h = h.detach()
        logits, h = model(x, h)
        loss = F.cross_entropy(logits.reshape(-1, VOCAB), y.reshape(-1))
        loss.backward(retain_graph=True)
        if k % 5 == 0:
            print("chunk", k, flush=True)
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    opt.step()


torch.manual_seed(3)
model = CharGRU().to(device)
train(torch.randint(0, VOCAB, (256, 420), device=device), model, torch.optim.SGD(model.parameters(), lr=1.0))
