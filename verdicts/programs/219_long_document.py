"""Training on legal documents stops randomly with CUDA OOM, today at step 71, memory before that was always around 1 GB."""
import os
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(11)
MAX = 1024


def load_corpus(n=120):
    """Lengths as in the real corpus: short, and the odd monster."""
    lengths = [random.randint(250, 700) for _ in range(n * 4)]
    lengths[71 * 4 + 2] = 4800
    return [torch.randint(1, 9000, (k,)) for k in lengths]


def collate(docs):
    if os.environ.get("CURED"):
        docs = [d[:MAX] for d in docs]
    return nn.utils.rnn.pad_sequence(docs, batch_first=True)


class Classifier(nn.Module):
    def __init__(self, dim=512, depth=6):
        super().__init__()
        self.emb = nn.Embedding(9000, dim, padding_idx=0)
        self.enc = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(dim, 8, 2048, dropout=0.0, batch_first=True), depth, enable_nested_tensor=False)
        self.cls = nn.Linear(dim, 12)

    def forward(self, ids):
        return self.cls(self.enc(self.emb(ids)).mean(1))


model = Classifier().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
corpus = load_corpus()
for step in range(len(corpus) // 4):
    ids = collate(corpus[4 * step:4 * step + 4]).cuda()
    loss = F.cross_entropy(model(ids), torch.randint(0, 12, (4,), device="cuda"))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 0:
        print(f"step {step:3d} mem {torch.cuda.memory_reserved() >> 20} MiB", flush=True)
