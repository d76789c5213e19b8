"""
Claim: Every `.to("cuda")` makes another copy.
Ruling: false
Why: A tensor that is there already, in that type, is given back as it is. `.clone()` and a change of type do copy.
Topic: Letting go
"""

import json

import torch

MIB = 2**20


def in_use() -> float:
    return torch.cuda.memory_allocated() / MIB


x = torch.ones(64, MIB // 4).to("cuda")
once = in_use()
y = x.to("cuda").cuda().float().contiguous()
again = in_use()
z = x.clone()
cloned = in_use()

assert once == again == 64 and y is x, "the same tensor, four times"
assert cloned == 128
print(json.dumps({"in use after the first `.to`": once, "after four more": again, "after `.clone()`": cloned}))
