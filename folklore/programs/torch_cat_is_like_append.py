"""
Claim: Growing a tensor with `torch.cat` is like appending to a list.
Ruling: false
Why: Every `cat` makes the whole tensor anew while the old one is still there, so at the end twice the memory is
    needed. Keep a list and call `cat` once on the CPU, or make the full tensor first and fill it.
Topic: Letting go
"""

import json

import torch

MIB = 2**20


def part() -> torch.Tensor:
    return torch.ones(4 * MIB // 4, device="cuda")


grown = part()
for _ in range(15):
    grown = torch.cat([grown, part()])
size = grown.nbytes / MIB
by_cat = torch.cuda.max_memory_allocated() / MIB

del grown
torch.cuda.reset_peak_memory_stats()
filled = torch.empty(16, 4 * MIB // 4, device="cuda")
for row in range(16):
    filled[row] = part()
by_filling = torch.cuda.max_memory_allocated() / MIB

assert by_cat == 2 * size, "old and new at once"
assert by_filling == size + 4, "the tensor and one part"
print(json.dumps({"the finished tensor": size, "most in use by `cat`": by_cat, "most in use by filling": by_filling}))
