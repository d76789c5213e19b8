"""
Claim: "Cached" memory is lost.
Ruling: false
Why: It is kept for your next request, which then needs no slow call of the driver, and it goes back to the card
    before PyTorch gives up. Only pieces that lie beside tensors in use cannot go back.
Topic: The allocator
"""

import json

import torch

MIB = 2**20


def take(size: int) -> torch.Tensor:
    return torch.empty(size * MIB, dtype=torch.uint8, device="cuda")


def driver_calls() -> int:
    return int(torch.cuda.memory_stats()["num_device_alloc"])


torch.cuda.set_per_process_memory_fraction(1024.5 * MIB / torch.cuda.get_device_properties(0).total_memory)
a = take(600)
del a
cached = (torch.cuda.memory_reserved() - torch.cuda.memory_allocated()) / MIB
before = driver_calls()
a = take(600)
calls_for_same = driver_calls() - before
del a
b = take(1000)  # more than what is left beside the cache

assert cached == 600
assert calls_for_same == 0, "served from the cache"
assert torch.cuda.memory_reserved() == 1000 * MIB, "the cache made room"
print(json.dumps({
    "limit": 1024,
    "cached": cached,
    "calls of the driver for 600 MiB more": f"{calls_for_same}",
    "held after a request of 1000 MiB": torch.cuda.memory_reserved() / MIB,
}))
