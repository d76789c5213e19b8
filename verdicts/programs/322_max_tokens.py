"""Translation with batches of a constant number of tokens. All batches need the same, still it dies when the lengths change."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

device = "cuda"
VOCAB, DIM, MAX_TOKENS = 32000, 384, 7680
LENGTHS = [12, 12, 12, 12, 20, 20, 12, 20, 15, 12]  # of the sentences in each batch


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(VOCAB, DIM), nn.Embedding(VOCAB, DIM)
        self.encoder = nn.GRU(DIM, DIM, batch_first=True)
        self.cell = nn.GRUCell(2 * DIM, DIM)
        self.out = nn.Linear(DIM, VOCAB)

    def forward(self, source, target):
        """The loss of the target, decoded word by word with attention to the source."""
        memory, h = self.encoder(self.source(source))
        h, loss = h[0], 0.0
        for t in range(target.shape[1] - 1):
            weights = torch.softmax((memory @ h[:, :, None]).squeeze(2), dim=1)
            context = (weights[:, :, None] * memory).sum(1)
            h = self.cell(torch.cat([self.target(target[:, t]), context], dim=1), h)
            logits = self.out(h)
            loss = loss + F.cross_entropy(logits, target[:, t + 1], label_smoothing=0.1)
        return loss / (target.shape[1] - 1)


def batches():
    for length in LENGTHS:
        if os.environ.get("CURED"):
            length = 12
        sentences = MAX_TOKENS // length
        yield torch.randint(0, VOCAB, (sentences, length)), torch.randint(0, VOCAB, (sentences, length + 1))


model = Translator().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for epoch in range(2):
    for step, (source, target) in enumerate(batches()):
        loss = model(source.to(device), target.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        del loss
        print("epoch", epoch, "step", step, tuple(target.shape), flush=True)
