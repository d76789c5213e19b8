"""
Claim: `del` and `empty_cache()` in every iteration keep memory low.
Ruling: true when steps leave tensors that would be put into cached blocks
Why: In a loop that leaves nothing the most in use and the smallest limit stay the same, because PyTorch gives its
    cache back by itself before it fails; you only pay for slow calls of the driver. Tensors that stay are another
    matter: put into a large cached block, they keep all of it. Better keep those on the CPU.
Topic: Letting go
"""

import json

import torch

MIB = 2**20


def loop(limit: float, empties: bool, keeps: bool) -> tuple[bool, float, int]:
    """Whether 40 steps and a request of 380 MiB run under the limit; the most in use in steps; calls of the driver."""
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(limit * MIB / torch.cuda.get_device_properties(0).total_memory)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_stats()["num_device_alloc"]
    left = []
    try:
        for size in range(1, 41):
            x = torch.empty(size * MIB, dtype=torch.uint8, device="cuda")
            del x
            if empties:
                torch.cuda.empty_cache()
            if keeps:
                left.append(torch.empty(size * MIB * 6 // 10, dtype=torch.uint8, device="cuda"))
        peak = torch.cuda.max_memory_allocated() / MIB
        torch.empty(380 * MIB, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        return False, 0, 0
    return True, peak, torch.cuda.memory_stats()["num_device_alloc"] - before


def smallest_limit(empties: bool, keeps: bool) -> int:
    return next(limit for limit in range(300, 2000, 10) if loop(limit + 0.5, empties, keeps)[0])


_, peak, calls = loop(2000, empties=False, keeps=False)
_, emptied_peak, emptied_calls = loop(2000, empties=True, keeps=False)
limit, emptied_limit = smallest_limit(False, keeps=False), smallest_limit(True, keeps=False)
kept_limit, kept_emptied_limit = smallest_limit(False, keeps=True), smallest_limit(True, keeps=True)

assert emptied_peak == peak and emptied_limit == limit, "nothing is left: no less in use, no smaller card"
assert emptied_calls > calls, "only more calls of the driver"
assert kept_emptied_limit < kept_limit, "tensors are left: it runs on a smaller card"
print(json.dumps({
    "steps that leave nothing, smallest limit": limit,
    "the same with `empty_cache()`": emptied_limit,
    "calls of the driver for memory, without and with": f"{calls} and {emptied_calls}",
    "steps that leave tensors, smallest limit": kept_limit,
    "the same with `empty_cache()` in every step": kept_emptied_limit,
}))
