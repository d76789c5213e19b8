"""
Claim: Pinned memory costs what the tensor costs.
Ruling: false
Why: PyTorch rounds every pinned piece up to a power of two, and keeps it for the next after it is freed. 33 MiB take
    64. Make batches a power of two, or just under one.
Topic: Host memory
"""

import json

import torch

MIB = 2**20


def taken() -> float:
    return torch.cuda.host_memory_stats()["allocated_bytes.current"] / MIB


torch.cuda.init()
exact = torch.empty(32 * MIB, dtype=torch.uint8, pin_memory=True)
for_32 = taken()
more = torch.empty(33 * MIB, dtype=torch.uint8, pin_memory=True)
for_33 = taken() - for_32
del exact, more
after_del = taken()
again = torch.empty(60 * MIB, dtype=torch.uint8, pin_memory=True)
after_another = taken()

assert for_32 == 32
assert for_33 == 64, "the next power of two"
assert after_del == after_another == 96, "kept, and used for the next"
print(json.dumps({
    "taken for 32 MiB": for_32,
    "taken for 33 MiB more": for_33,
    "taken after `del` of both": after_del,
    "taken after 60 MiB more": after_another,
}))
