"""
Claim: `del` and `empty_cache()` in every iteration keep memory low.
Ruling: false
Why: The most in use is the same, and so is the smallest card the loop runs on, because PyTorch gives its cache back by
    itself before it fails. All that you buy is calls of the driver in every step, which are slow.
Topic: Letting go
"""

import json

import torch

MIB = 2**20


def loop(limit: int, empties: bool) -> tuple[bool, float, int]:
    """Whether ten steps of changing size run under the limit; the most in use; the calls of the driver."""
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction((limit + 0.5) * MIB / torch.cuda.get_device_properties(0).total_memory)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_stats()["num_device_alloc"]
    try:
        for step in range(10):
            x = torch.empty((30 + 7 * step % 40) * MIB, dtype=torch.uint8, device="cuda")
            y = torch.empty_like(x)
            del x, y
            if empties:
                torch.cuda.empty_cache()
    except torch.OutOfMemoryError:
        return False, 0, 0
    calls = torch.cuda.memory_stats()["num_device_alloc"] - before
    return True, torch.cuda.max_memory_allocated() / MIB, calls


def smallest_limit(empties: bool) -> int:
    return next(limit for limit in range(100, 400, 2) if loop(limit, empties)[0])


_, plain_peak, plain_calls = loop(1024, empties=False)
_, emptied_peak, emptied_calls = loop(1024, empties=True)
plain_limit, emptied_limit = smallest_limit(False), smallest_limit(True)

assert emptied_peak == plain_peak, "no less is in use"
assert emptied_limit == plain_limit, "it runs on no smaller card"
assert emptied_calls > plain_calls, "it asks the driver more often"
print(json.dumps({
    "most in use, without and with `empty_cache()`": f"{plain_peak:.0f} and {emptied_peak:.0f} MiB",
    "smallest limit, without and with": f"{plain_limit} and {emptied_limit} MiB",
    "driver asked for memory, without and with": f"{plain_calls} and {emptied_calls} times",
}))
