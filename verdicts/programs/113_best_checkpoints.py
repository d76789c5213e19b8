"""Language model on my chat logs. I keep the weights of every epoch to pick the best later; the job goes down in epoch 14 of 30."""
import copy
import os

import torch
import torch.nn as nn
import torch.nn.functional as F


class CharLM(nn.Module):
    def __init__(self, vocab=512, d=640, depth=5):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.pos = nn.Parameter(torch.zeros(128, d))
        layer = nn.TransformerEncoderLayer(d, 10, 4 * d, batch_first=True, dropout=0.1, norm_first=True)
        self.tr = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(d, vocab)

    def forward(self, ids):
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1], device=ids.device)
        return self.head(self.tr(self.emb(ids) + self.pos[: ids.shape[1]], mask=mask, is_causal=True))


device = "cuda"
model = CharLM().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
checkpoints = {}

for epoch in range(30):
    for _ in range(3):
        ids = torch.randint(0, 512, (8, 128), device=device)
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scheduler.step()
    if os.environ.get("CURED"):
        checkpoints = {epoch: {"loss": loss.item(), "weights": {k: v.cpu() for k, v in model.state_dict().items()}}}
    else:
        checkpoints[epoch] = {"loss": loss.item(), "weights": copy.deepcopy(model.state_dict())}
    print("epoch", epoch, "checkpoints", len(checkpoints), flush=True)
best = min(checkpoints, key=lambda e: checkpoints[e]["loss"])
print("best epoch", best)
