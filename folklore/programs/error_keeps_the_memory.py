"""
Claim: After an out-of-memory error the memory stays taken.
Ruling: true when the exception is kept, or the retry runs inside `except`
Why: The exception has the traceback, and that has every name of the functions that failed. It goes when the `except`
    block ends, so retry after the block, and do not store the exception.
Topic: Letting go
"""

import json

import torch

MIB = 2**20


def step() -> None:
    activations = torch.ones(64, MIB // 4, device="cuda")
    torch.empty(2**50, dtype=torch.uint8, device=activations.device)


try:
    step()
except torch.OutOfMemoryError:
    inside = torch.cuda.memory_allocated() / MIB
after = torch.cuda.memory_allocated() / MIB

try:
    step()
except torch.OutOfMemoryError as error:
    kept = error
stored = torch.cuda.memory_allocated() / MIB
del kept
dropped = torch.cuda.memory_allocated() / MIB

assert (inside, after) == (64, 0), "held inside the block, free after it"
assert (stored, dropped) == (64, 0), "held as long as the exception is stored"
print(json.dumps({
    "in use inside `except`": inside,
    "in use after the block": after,
    "after the block, with the exception stored": stored,
    "once it is dropped": dropped,
}))
