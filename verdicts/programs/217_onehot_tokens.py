"""Byte-pair char model from a course. Changed the 256 letters of the exercise to 16000 subwords, now it does not train on my GPU."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

V, T, B, H = 16_000, 128, 48, 384


class RNNLanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.w_in = nn.Parameter(torch.empty(V, H).normal_(std=0.02))
        self.w_h = nn.Linear(H, H)
        self.w_out = nn.Linear(H, 256)
        self.expand = nn.Linear(256, V)

    def forward(self, tokens):
        if os.environ.get("CURED"):
            x = F.embedding(tokens, self.w_in)
        else:
            hot = F.one_hot(tokens, V)
            x = hot.float() @ self.w_in
        h = torch.zeros(tokens.shape[0], H, device=tokens.device)
        for t in range(tokens.shape[1]):
            h = torch.tanh(x[:, t] + self.w_h(h))
        return self.expand(self.w_out(h))


def sentences(n):
    for _ in range(n):
        yield torch.randint(0, V, (B, T + 1)).to("cuda")


model = RNNLanguageModel().to("cuda")
optim = torch.optim.Adagrad(model.parameters(), lr=0.01)
for i, s in enumerate(sentences(12)):
    loss = F.cross_entropy(model(s[:, :-1]), s[:, -1])
    optim.zero_grad()
    loss.backward()
    optim.step()
    print(i, loss.item(), flush=True)
