"""
Claim: `del model` frees the model.
Ruling: true when no optimizer, scheduler or output holds its weights
Why: The optimizer has a list of the same weights, so they live as long as it does. Drop both.
Topic: Letting go
"""

import json

import torch

MIB = 2**20


def in_use() -> float:
    return torch.cuda.memory_allocated() / MIB


model = torch.nn.Linear(4096, 4096, bias=False, device="cuda")
weights = in_use()
del model
alone = in_use()

model = torch.nn.Linear(4096, 4096, bias=False, device="cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
del model
with_optimizer = in_use()
del optimizer
both = in_use()

assert (weights, alone) == (64, 0)
assert (with_optimizer, both) == (64, 0), "the optimizer kept the weights"
print(json.dumps({
    "in use by the model": weights,
    "after `del model`, nothing else holds it": alone,
    "after `del model`, with an optimizer": with_optimizer,
    "after `del optimizer` too": both,
}))
