"""TracIn influence scores: gradients of each training example, then dot products with those of the test example. 200 examples worked on the big server, my card dies."""
import os

import torch
import torch.nn as nn


class SentimentCNNLess(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(3000, 200)
        self.fc = nn.Sequential(nn.Linear(200 * 40, 512), nn.ReLU(), nn.Linear(512, 2))

    def forward(self, x):
        return self.fc(self.emb(x).flatten(1))


model = SentimentCNNLess().to("cuda")
params = [p for p in model.parameters() if p.requires_grad]


def example_grad(ids, label):
    loss = nn.functional.cross_entropy(model(ids[None]), label[None])
    return torch.autograd.grad(loss, params)


def rand_example():
    return torch.randint(0, 3000, (40,), device="cuda"), torch.randint(0, 2, (), device="cuda")


test_grad = example_grad(*rand_example())
grads, scores = {}, {}
for i in range(260):
    g = example_grad(*rand_example())
    if os.environ.get("CURED"):
        scores[i] = sum((a * b).sum() for a, b in zip(g, test_grad)).item()
    else:
        grads[i] = g
    if i % 25 == 0:
        print("example", i, flush=True)
for i, g in grads.items():
    scores[i] = sum((a * b).sum() for a, b in zip(g, test_grad)).item()
print(max(scores, key=scores.get))
