"""
Claim: Out of memory? Call `torch.cuda.empty_cache()` and try again.
Ruling: false
Why: PyTorch has done that itself before it raised the error: it gave back its whole cache and asked the card once
    more. Calling it again gives nothing. Free something: drop names, use a smaller batch, or checkpoint.
Topic: Letting go
"""

import json

import torch

MIB = 2**20
LIMIT = 1024 * MIB


def fails(size: int) -> bool:
    try:
        torch.empty(size * MIB, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        return True
    return False


torch.cuda.set_per_process_memory_fraction(LIMIT / torch.cuda.get_device_properties(0).total_memory)
kept = torch.empty(500 * MIB, dtype=torch.uint8, device="cuda")
cache = torch.empty(300 * MIB, dtype=torch.uint8, device="cuda")
del cache
held_before = torch.cuda.memory_reserved() / MIB
first = fails(600)
held_after = torch.cuda.memory_reserved() / MIB
retries = torch.cuda.memory_stats()["num_alloc_retries"]
torch.cuda.empty_cache()
second = fails(600)
del kept
third = fails(600)

assert held_before == 800 and held_after == 500 and retries == 1, "the cache went back before the error came"
assert first and second, "emptying it again changes nothing"
assert not third, "dropping a tensor does"
print(json.dumps({
    "limit": LIMIT // MIB,
    "held before the failing request, 500 in use and 300 cached": held_before,
    "held when the error comes": held_after,
    "the same request after `empty_cache()`": "fails" if second else "is served",
    "the same request after `del` of the 500 MiB": "fails" if third else "is served",
}))
