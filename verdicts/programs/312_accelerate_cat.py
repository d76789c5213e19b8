"""The loop over the evaluation set gets to the end, then putting the logits together fails. I do use no_grad."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


class Tagger(nn.Module):
    def __init__(self, vocab=5000, dim=256, tags=1200):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, tags)

    def forward(self, tokens):
        return self.out(self.lstm(self.embed(tokens))[0])


def batches(n, batch):
    return DataLoader(TensorDataset(torch.randint(0, 5000, (n, 128)), torch.randint(0, 1200, (n, 128))), batch_size=batch)


@torch.no_grad()
def evaluate(accelerator, model, loader):
    model.eval()
    all_logits, all_tags = [], []
    for tokens, tags in loader:
        logits, tags = accelerator.gather_for_metrics((model(tokens), tags))
        if os.environ.get("CURED"):
            logits, tags = logits.argmax(-1).cpu(), tags.cpu()
        all_logits.append(logits)
        all_tags.append(tags)
    print("evaluated", len(all_logits), "batches", flush=True)
    logits, tags = torch.cat(all_logits), torch.cat(all_tags)
    predicted = logits if logits.dim() == 2 else logits.argmax(-1)
    return (predicted == tags).float().mean().item()


def main():
    accelerator = Accelerator()
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model, optimizer, train, val = accelerator.prepare(model, optimizer, batches(256, 16), batches(2048, 32))
    for epoch in range(2):
        model.train()
        for tokens, tags in train:
            loss = F.cross_entropy(model(tokens).flatten(0, 1), tags.flatten())
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        print("epoch", epoch, evaluate(accelerator, model, val), flush=True)


if __name__ == "__main__":
    main()
