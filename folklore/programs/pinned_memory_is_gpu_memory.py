"""
Claim: Pinned memory (`pin_memory=True`) is GPU memory.
Ruling: false
Why: It is host memory that the system may not move, so that copies to the GPU are quick. It takes nothing from the
    card and can fill the host's RAM. Every amount is rounded up to a power of two.
Topic: Host memory
"""

import json

import torch

MIB = 2**20

torch.cuda.init()
free_before, _ = torch.cuda.mem_get_info()
pinned = torch.ones(40 * MIB, dtype=torch.uint8).pin_memory()
free_after, _ = torch.cuda.mem_get_info()
on_host = torch.cuda.host_memory_stats()["allocated_bytes.current"]

assert pinned.is_pinned() and pinned.device.type == "cpu"
assert free_after == free_before and torch.cuda.memory_allocated() == 0, "the card has not less"
assert on_host >= 40 * MIB, "the host has"
print(json.dumps({
    "pinned": pinned.nbytes / MIB,
    "taken from the card": (free_before - free_after) / MIB,
    "taken from the host": on_host / MIB,
}))
