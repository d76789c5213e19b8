"""
Claim: I made a half-precision copy of my model, so it needs less.
Ruling: false
Why: A copy beside the original makes 1.5 times the memory. Convert the model itself, or load it in half precision
    from the start, and let the original go.
Topic: Precision
"""

import copy
import json

import torch

MIB = 2**20


def in_use() -> float:
    return torch.cuda.memory_allocated() / MIB


model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024, bias=False) for _ in range(16)]).cuda()
original = in_use()
torch.cuda.reset_peak_memory_stats()
small = copy.deepcopy(model).half()
both = in_use()
peak = torch.cuda.max_memory_allocated() / MIB
del model
copy_alone = in_use()

assert both == 1.5 * original, "the original and half of it"
assert peak >= 2 * original, "and on the way a whole second one"
assert copy_alone == original / 2
print(json.dumps({
    "in use by the model": original,
    "with its half-precision copy": both,
    "most in use on the way": peak,
    "after `del model`": copy_alone,
}))
