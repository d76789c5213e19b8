"""A small language model, trained and evaluated."""

import torch
from torch import nn

VOCABULARY = 4000
LENGTH = 128
WIDTH = 128


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH * 4)
        self.back = nn.Linear(WIDTH * 4, WIDTH)

    def forward(self, x):
        h = self.norm(x)
        h = self.mix(h)
        h = nn.functional.gelu(h)
        return x + self.back(h)


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


model = Language().to("cuda")
optimizer = torch.optim.AdamW(model.parameters())


def loss_of(logits, tokens):
    logits = logits.flatten(0, 1)
    return nn.functional.cross_entropy(logits, tokens.flatten())


def train_step(step):
    tokens = torch.zeros(4, LENGTH, dtype=torch.long, device="cuda")
    logits = model(tokens)
    loss = loss_of(logits, tokens)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@torch.no_grad()
def evaluate():
    total = torch.zeros((), device="cuda")
    for _ in range(3):
        tokens = torch.zeros(48, LENGTH, dtype=torch.long, device="cuda")
        hidden = model.words(tokens)
        for block in model.blocks:
            hidden = block(hidden)
        total += hidden.mean()
    return total


for step in range(4):
    train_step(step)
model.eval()
evaluate()
