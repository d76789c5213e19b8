"""
Claim: After `del` another program can have the memory.
Ruling: false
Why: PyTorch keeps what is freed in its cache, for its own next request; the card does not have it back. To hand it to
    another program, call `torch.cuda.empty_cache()` after the `del`.
Topic: Letting go
"""

import json

import torch

MIB = 2**20


def taken_from_card() -> float:
    free, total = torch.cuda.mem_get_info()
    return (total - free) / MIB


torch.cuda.init()
empty = taken_from_card()
x = torch.ones(64, MIB // 4, device="cuda")
with_x = taken_from_card() - empty
del x
in_use = torch.cuda.memory_allocated() / MIB
after_del = taken_from_card() - empty
torch.cuda.empty_cache()
after_empty_cache = taken_from_card() - empty

assert in_use == 0, "for this program the memory is free"
assert after_del == with_x == 64, "for the card it is not"
assert after_empty_cache == 0, "now it is"
print(json.dumps({
    "taken from the card with the tensor": with_x,
    "in use after `del`": in_use,
    "taken from the card after `del`": after_del,
    "taken from the card after `empty_cache()`": after_empty_cache,
}))
