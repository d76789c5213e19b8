"""
Claim: I keep only one row of the big tensor, so the rest is freed.
Ruling: false
Why: A row is a view: it points into the memory of the whole tensor and keeps all of it. Keep `x[0].clone()`.
Topic: Letting go
"""

import json

import torch

MIB = 2**20

kept = [torch.ones(64, MIB // 4, device="cuda")[0] for _ in range(3)]
views = torch.cuda.memory_allocated() / MIB
kept = [row.clone() for row in kept]
clones = torch.cuda.memory_allocated() / MIB

assert views == 3 * 64, "three rows of 1 MiB keep three tensors of 64 MiB"
assert clones == 3, "three copies of a row keep three rows"
print(json.dumps({"in use by three rows": views, "in use by three rows, cloned": clones}))
