"""I keep the weights of some moments of the training to average the best of them afterwards (a model soup). It dies midway."""
import copy
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda")


class Soup:
    def __init__(self, every=5):
        self.every, self.history = every, []

    def update(self, step, model):
        if step % self.every == 0:
            weights = copy.deepcopy(model.state_dict())
            if os.environ.get("CURED"):
                weights = {name: value.cpu() for name, value in weights.items()}
            self.history.append((step, weights))

    def average(self, last=5):
        chosen = [weights for _, weights in self.history[-last:]]
        return {name: torch.stack([w[name].float() for w in chosen]).mean(0) for name in chosen[0]}


class Encoder(nn.Module):
    def __init__(self, vocab=10000, dim=512, layers=6):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, 8, 4 * dim, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(dim, 4)

    def forward(self, tokens):
        return self.head(self.encoder(self.embed(tokens)).mean(1))


def main():
    model = Encoder().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    soup = Soup()
    for step in range(150):
        tokens = torch.randint(0, 10000, (16, 64)).to(device)
        labels = torch.randint(0, 4, (16,)).to(device)
        loss = F.cross_entropy(model(tokens), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        soup.update(step, model)
        if step % 10 == 0:
            print("step", step, "kept", len(soup.history), flush=True)
    torch.save(soup.average(), "soup.pt")


if __name__ == "__main__":
    main()
