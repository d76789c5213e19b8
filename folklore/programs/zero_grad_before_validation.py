"""
Claim: Call `zero_grad()` before validation: it frees the gradients.
Ruling: true
Why: Gradients stay from `backward()` until somebody drops them, as large as the weights, and validation needs none.
    `zero_grad()` sets them to `None`, so their memory is free for the batch of the validation.
Topic: Evaluation
"""

import json

import torch

MIB = 2**20

model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048, bias=False) for _ in range(8)]).cuda()
weights = sum(parameter.nbytes for parameter in model.parameters()) / MIB
model(torch.ones(16, 2048, device="cuda")).sum().backward()


@torch.no_grad()
def validation_peak() -> float:
    torch.cuda.reset_peak_memory_stats()
    model(torch.ones(4096, 2048, device="cuda"))
    return torch.cuda.max_memory_allocated() / MIB


with_gradients = validation_peak()
model.zero_grad()
without_gradients = validation_peak()

assert weights == 128
assert with_gradients - without_gradients == weights, "as much as the weights"
print(json.dumps({
    "weights": weights,
    "most in use in validation": with_gradients,
    "most in use after `zero_grad()`": without_gradients,
}))
