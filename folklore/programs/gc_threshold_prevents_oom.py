"""
Claim: `garbage_collection_threshold:0.8` prevents out of memory.
Ruling: false
Why: It gives cached memory back to the card earlier. PyTorch gives all of it back before it fails in any case, so
    steps of changing size need the same card. It leaves more for other programs on the card.
Topic: The allocator
"""

import json

import torch

MIB = 2**20


def runs(limit: int, settings: str) -> tuple[bool, float]:
    """Whether steps of growing size run under the limit, and the most that was held."""
    torch._C._accelerator_setAllocatorSettings(settings)
    torch.cuda.set_per_process_memory_fraction((limit + 0.5) * MIB / torch.cuda.get_device_properties(0).total_memory)
    torch.cuda.reset_peak_memory_stats()
    try:
        for size in range(20, 120, 4):
            step = [torch.empty(part * MIB, dtype=torch.uint8, device="cuda") for part in (size, size // 2)]
            del step
    except torch.OutOfMemoryError:
        return False, 0
    finally:
        held = torch.cuda.max_memory_reserved() / MIB
        torch.cuda.empty_cache()
    return True, held


def smallest_limit(settings: str) -> int:
    return next(limit for limit in range(100, 1000, 2) if runs(limit, settings)[0])


default_limit, collected_limit = smallest_limit(""), smallest_limit("garbage_collection_threshold:0.8")
default_held = runs(800, "")[1]
collected_held = runs(800, "garbage_collection_threshold:0.8")[1]

assert collected_limit == default_limit, "it runs on no smaller card"
assert collected_held < default_held, "it holds less on the way"
print(json.dumps({
    "smallest limit": default_limit,
    "smallest limit with the threshold": collected_limit,
    "held under a limit of 800 MiB": default_held,
    "held under it with the threshold": collected_held,
}))
