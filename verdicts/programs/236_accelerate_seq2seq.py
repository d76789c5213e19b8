"""Translation with accelerate and mixed precision. On the lab machine (24 GB) it used 'about a third', so I expected a 3 GB slice to do with a smaller dataset."""
import os

import torch
import torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


class Translator(nn.Module):
    def __init__(self, vocab=16000, d=512):
        super().__init__()
        self.src, self.tgt = nn.Embedding(vocab, d), nn.Embedding(vocab, d)
        self.core = nn.Transformer(d, 8, 4, 4, 2048, dropout=0.1, batch_first=True)
        self.out = nn.Linear(d, vocab)

    def forward(self, s, t):
        causal = nn.Transformer.generate_square_subsequent_mask(t.size(1), device=t.device)
        return self.out(self.core(self.src(s), self.tgt(t), tgt_mask=causal, tgt_is_causal=True))


def main():
    accelerator = Accelerator(mixed_precision="bf16")
    size = 8 if os.environ.get("CURED") else 64
    data = TensorDataset(torch.randint(0, 16000, (512, 128)), torch.randint(0, 16000, (512, 129)))
    loader = DataLoader(data, batch_size=size, shuffle=True)
    model = Translator()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
    for n, (s, t) in enumerate(loader):
        logits = model(s, t[:, :-1])
        loss = loss_fn(logits.flatten(0, 1), t[:, 1:].flatten())
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        accelerator.print("batch", n, loss.item(), flush=True)
        if n == 6:
            break


if __name__ == "__main__":
    main()
