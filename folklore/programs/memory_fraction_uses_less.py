"""
Claim: `set_per_process_memory_fraction(0.5)` makes the job use less memory.
Ruling: false
Why: It is a limit, not a diet. What the job has in use is the same; above the limit it fails, though the card has
    room. It is good for sharing a card, and for trying whether a job would fit on a smaller one.
Topic: The allocator
"""

import json

import torch

MIB = 2**20


def peak(limit: int) -> float | str:
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(limit * MIB / torch.cuda.get_device_properties(0).total_memory)
    torch.cuda.reset_peak_memory_stats()
    try:
        x = torch.ones(300 * MIB, dtype=torch.uint8, device="cuda")
        x + x
    except torch.OutOfMemoryError:
        return "out of memory"
    return torch.cuda.max_memory_allocated() / MIB


roomy, tight, too_tight = peak(4000), peak(650), peak(550)

assert roomy == tight == 600, "the same is in use under either limit"
assert too_tight == "out of memory", "below that it fails"
print(json.dumps({
    "most in use, limit 4000 MiB": roomy,
    "most in use, limit 650 MiB": tight,
    "limit 550 MiB": too_tight,
}))
