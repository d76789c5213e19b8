"""
Claim: `x.cpu()` moves a tensor off the GPU.
Ruling: false
Why: It makes a copy in host memory; the tensor on the GPU stays as long as it has a name. Write `x = x.cpu()`, so
    that the name goes too.
Topic: Letting go
"""

import json

import torch

MIB = 2**20

x = torch.ones(64, MIB // 4, device="cuda")
y = x.cpu()
copied = torch.cuda.memory_allocated() / MIB
x = x.cpu()
renamed = torch.cuda.memory_allocated() / MIB

assert copied == 64, "the GPU still has it"
assert renamed == 0, "the last name for the one on the GPU is gone"
print(json.dumps({"in use after `y = x.cpu()`": copied, "in use after `x = x.cpu()`": renamed}))
