"""
Claim: `torch.cuda.empty_cache()` frees the tensors I no longer need.
Ruling: false
Why: It cannot know what you need. It gives back what no tensor uses; what a name still holds stays. Drop the name
    first.
Topic: Letting go
"""

import json

import torch

MIB = 2**20

old = torch.ones(64, MIB // 4, device="cuda")  # not used again below
torch.cuda.empty_cache()
with_name = torch.cuda.memory_allocated() / MIB
held_with_name = torch.cuda.memory_reserved() / MIB
del old
torch.cuda.empty_cache()
held_without = torch.cuda.memory_reserved() / MIB

assert with_name == held_with_name == 64, "the name keeps it"
assert held_without == 0, "without the name it goes back"
print(json.dumps({
    "in use after `empty_cache()`, the name still there": with_name,
    "held after `del` and `empty_cache()`": held_without,
}))
