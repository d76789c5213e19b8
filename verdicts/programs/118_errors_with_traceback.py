"""Some of my documents are broken, so I skip them and collect the errors to look at afterwards. With clean data no OOM; with the real data OOM after a while."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F


class DocClassifier(nn.Module):
    def __init__(self, d=256):
        super().__init__()
        self.emb = nn.EmbeddingBag(20000, d)
        self.sent = nn.Sequential(nn.Linear(d, 1024), nn.GELU(), nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, d))
        self.cls = nn.Linear(d, 20)

    def forward(self, tokens):
        b, s, w = tokens.shape
        sentences = self.emb(tokens.view(b * s, w)).view(b, s, -1)
        return self.cls(self.sent(sentences).max(1).values)


def documents(n):
    for i in range(n):
        labels = 31 if i % 4 == 3 else 32  # the export lost a label here and there
        yield torch.randint(0, 20000, (32, 256, 8)), torch.randint(0, 20, (labels,))


def train_batch(model, opt, tokens, labels):
    logits = model(tokens.to("cuda"))
    if len(logits) != len(labels):
        raise ValueError(f"{len(logits)} documents and {len(labels)} labels")
    loss = F.cross_entropy(logits, labels.to("cuda"))
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


model = DocClassifier().cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
errors = []
for n, (tokens, labels) in enumerate(documents(220)):
    try:
        train_batch(model, opt, tokens, labels)
    except ValueError as e:
        errors.append((n, str(e)) if os.environ.get("CURED") else (n, e))
    if n % 20 == 0:
        print("batch", n, "skipped", len(errors), flush=True)
for n, e in errors[:5]:
    print(n, e)
