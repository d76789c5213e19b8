"""Session based recommender. With the 20k item sample it trained well, with the real catalogue (700k items) the loss line fails."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

ITEMS, DIM, BATCH = 700_000, 32, 1024
cuda = torch.device("cuda")


class SessionGRU(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = nn.Embedding(ITEMS, DIM, device=cuda, sparse=True)
        self.cell = nn.GRUCell(DIM, DIM, device=cuda)

    def forward(self, clicks):
        h = torch.zeros(len(clicks), DIM, device=cuda)
        for t in range(clicks.shape[1]):
            h = self.cell(self.items(clicks[:, t]), h)
        return h


def full_softmax_loss(model, state, target):
    scores = state @ model.items.weight.T
    log_p = F.log_softmax(scores, dim=-1)
    return -log_p.gather(1, target[:, None]).mean()


def sampled_loss(model, state, target, negatives=2048):
    candidates = torch.cat([target, torch.randint(0, ITEMS, (negatives,), device=cuda)])
    scores = state @ model.items(candidates).T
    return F.cross_entropy(scores, torch.arange(len(target), device=cuda))


model = SessionGRU()
table = torch.optim.SGD([model.items.weight], lr=0.1)
rest = torch.optim.Adam(model.cell.parameters(), lr=1e-3)
criterion = sampled_loss if os.environ.get("CURED") else full_softmax_loss
for batch in range(15):
    clicks = torch.randint(0, ITEMS, (BATCH, 12), device=cuda)
    target = torch.randint(0, ITEMS, (BATCH,), device=cuda)
    loss = criterion(model, model(clicks), target)
    for o in (table, rest):
        o.zero_grad()
    loss.backward()
    for o in (table, rest):
        o.step()
    print("batch", batch, loss.item(), flush=True)
