"""
Claim: Tensors of growing sizes, deleted one by one, cut memory into pieces, so that 400 MB no longer fits.
Ruling: true when every step leaves a part of what it made
Why: What is wholly free goes back to the card before PyTorch fails, whatever sizes it had. It becomes true when each
    step leaves a tensor behind, for then hardly a piece is whole. Keep what steps leave on the CPU.
Topic: The allocator
"""

import json

import torch

MB = 10**6
MIB = 2**20


def grow(keeps: bool) -> tuple[bool, float, float]:
    """Makes tensors of 1 to 40 MB and drops each; then asks for 400 MB. Served? In use, held?"""
    torch.cuda.empty_cache()
    left = []
    for size in range(1, 41):
        x = torch.empty(size * MB, dtype=torch.uint8, device="cuda")
        del x
        if keeps:
            left.append(torch.empty(size * MB * 6 // 10, dtype=torch.uint8, device="cuda"))
    in_use, held = torch.cuda.memory_allocated() / MIB, torch.cuda.memory_reserved() / MIB
    try:
        torch.empty(400 * MB, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        return False, in_use, held
    return True, in_use, held


torch.cuda.set_per_process_memory_fraction(1000 * MIB / torch.cuda.get_device_properties(0).total_memory)
dropped, dropped_in_use, dropped_held = grow(keeps=False)
kept, kept_in_use, kept_held = grow(keeps=True)

assert dropped and dropped_in_use == 0, "all of it is dropped: 400 MB fit"
assert kept_in_use + 400 * MB / MIB < 1000, "there is room for 400 MB in all"
assert not kept, "but in no one piece"
print(json.dumps({
    "limit": 1000,
    "held after 40 tensors of 1 to 40 MB, each dropped": dropped_held,
    "then 400 MB": "fit" if dropped else "do not fit",
    "in use when each step leaves 60% of its size": kept_in_use,
    "held then": kept_held,
    "then 400 MB, by count still free": "fit" if kept else "do not fit",
}))
