"""
Claim: A tensor of one number takes 4 bytes.
Ruling: false
Why: Every tensor takes a multiple of 512 bytes, and the first small one makes PyTorch take 2 MiB from the card. A
    million losses in a list are 512 MB; keep `loss.item()`.
Topic: The allocator
"""

import json

import torch

one = torch.zeros((), device="cuda")
in_use = torch.cuda.memory_allocated()
held = torch.cuda.memory_reserved()
many = [torch.zeros((), device="cuda") for _ in range(9999)]
in_use_by_many = torch.cuda.memory_allocated()

assert one.nbytes == 4
assert in_use == 512 and held == 2 * 2**20
assert in_use_by_many == 10000 * 512
print(json.dumps({
    "one number": f"{one.nbytes} bytes",
    "in use for it": f"{in_use} bytes",
    "held for it": held / 2**20,
    "in use for 10,000 of them": in_use_by_many / 2**20,
}))
