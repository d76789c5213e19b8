"""
Claim: `.half()` halves the memory.
Ruling: true when the whole model is converted in place
Why: A number takes 2 bytes instead of 4, and `model.half()` replaces the weights one by one. `y = x.half()` beside
    `x` makes it more, not less; and tensors of a few numbers take 512 bytes in any type.
Topic: Precision
"""

import json

import torch

MIB = 2**20


def in_use() -> float:
    return torch.cuda.memory_allocated() / MIB


model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024, bias=False) for _ in range(16)]).cuda()
full = in_use()
torch.cuda.reset_peak_memory_stats()
model.half()
half = in_use()
peak = torch.cuda.max_memory_allocated() / MIB

x = torch.ones(16 * MIB, device="cuda")
x_full = in_use() - half
y = x.half()
both = in_use() - half
scalar = torch.zeros((), device="cuda")
before = torch.cuda.memory_allocated()
half_scalar = scalar.half()

assert half == full / 2, "exactly half"
assert peak < full + 4, "one weight at a time, so there is no moment with both models"
assert both == 1.5 * x_full, "the copy comes on top"
assert torch.cuda.memory_allocated() - before == 512, "half of 4 bytes is 512 bytes"
print(json.dumps({
    "in use by the model": full,
    "after `model.half()`": half,
    "most in use on the way": peak,
    "a tensor `x`": x_full,
    "with `y = x.half()`": both,
}))
