"""Small decoder (4 layers), multilingual tokenizer. By my estimate of the layers it should need a fraction of this."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

device = "cuda"
VOCAB, DIM, LENGTH, BATCH = 151936, 256, 512, 8


class Decoder(nn.Module):
    def __init__(self, layers=4):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(DIM, 4, 4 * DIM, dropout=0.0, batch_first=True, norm_first=True)
                                    for _ in range(layers))
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def hidden(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=tokens.device)
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x, src_mask=mask, is_causal=True)
        return x

    def forward(self, tokens):
        return self.head(self.hidden(tokens))


def chunked_loss(model, hidden, targets, size=256):
    part = lambda h, t: F.cross_entropy(model.head(h), t, reduction="sum")
    pairs = zip(hidden.split(size), targets.split(size))
    return sum(checkpoint(part, h, t, use_reentrant=False) for h, t in pairs) / len(targets)


model = Decoder().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    tokens = torch.randint(0, VOCAB, (BATCH, LENGTH + 1)).to(device)
    targets = tokens[:, 1:].flatten()
    if os.environ.get("CURED"):
        loss = chunked_loss(model, model.hidden(tokens[:, :-1]).flatten(0, 1), targets)
    else:
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.float().view(-1, VOCAB), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, flush=True)
