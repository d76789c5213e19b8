"""
Claim: `model.cpu()` frees the GPU.
Ruling: false
Why: Weights and their gradients move. The optimizer's state does not, nor do outputs and losses that still have a
    name. Drop the optimizer as well, or move its state.
Topic: Letting go
"""

import json

import torch

MIB = 2**20


def in_use() -> float:
    return torch.cuda.memory_allocated() / MIB


model = torch.nn.Linear(4096, 4096, bias=False, device="cuda")
weights = in_use()
optimizer = torch.optim.Adam(model.parameters())
for parameter in model.parameters():
    parameter.grad = torch.ones_like(parameter)
optimizer.step()
trained = in_use()
model.cpu()
moved = in_use()
del optimizer
without_optimizer = in_use()

assert weights == 64
assert trained >= 4 * weights, "weights, gradients, and two moments of Adam"
assert moved == trained - 2 * weights >= 2 * weights, "the two moments are still there"
assert without_optimizer == 0
print(json.dumps({
    "in use by the weights": weights,
    "in use after a step of Adam": trained,
    "after `model.cpu()`": moved,
    "after `del optimizer` too": without_optimizer,
}))
