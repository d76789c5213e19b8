"""
Claim: Broadcasting costs no memory.
Ruling: true when nothing is computed from it
Why: `expand` is a view and costs nothing. The result of an operation has the full shape all the same, as in `x[:,
    None] - x[None, :]`. Work on parts, or use a function made for it, such as `torch.cdist`.
Topic: The allocator
"""

import json

import torch

MIB = 2**20


def in_use() -> float:
    return torch.cuda.memory_allocated() / MIB


x = torch.ones(4096, device="cuda")
before = in_use()
wide = x[:, None].expand(4096, 4096)
expanded = in_use() - before
repeated = x.repeat(4096, 1)
with_repeat = in_use() - before
del repeated
pairs = x[:, None] - x[None, :]
with_pairs = in_use() - before

assert expanded == 0, "a view"
assert with_repeat == with_pairs == 64, "4096 × 4096 numbers of 4 bytes"
print(json.dumps({
    "4096 numbers expanded to 4096 × 4096": expanded,
    "repeated to 4096 × 4096": with_repeat,
    "all differences, by broadcasting": with_pairs,
}))
