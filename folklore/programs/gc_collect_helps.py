"""
Claim: `gc.collect()` frees GPU memory.
Ruling: true when the tensors are part of a reference cycle
Why: Python frees a tensor the moment its last name goes, without the collector. Only objects that refer to each other
    in a ring wait for it. If `gc.collect()` helps you, find the ring; do not call it in every step.
Topic: Letting go
"""

import gc
import json

import torch

MIB = 2**20


class Cell:
    def __init__(self) -> None:
        self.value = torch.ones(64, MIB // 4, device="cuda")
        self.other: Cell | None = None


def in_use() -> float:
    return torch.cuda.memory_allocated() / MIB


gc.disable()  # so that it does not run by itself in between
cell = Cell()
del cell
plain = in_use()

cell = Cell()
cell.other = cell
del cell
ring = in_use()
gc.collect()
collected = in_use()

kept = Cell()
gc.collect()
named = in_use()

assert plain == 0, "no ring: free without the collector"
assert (ring, collected) == (64, 0), "a ring waits for the collector"
assert named == 64, "what still has a name is not collected"
print(json.dumps({
    "in use after `del`, no ring": plain,
    "after `del`, in a ring": ring,
    "then after `gc.collect()`": collected,
    "after `gc.collect()`, still named": named,
}))
