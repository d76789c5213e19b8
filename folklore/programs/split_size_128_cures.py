"""
Claim: `max_split_size_mb:128` cures fragmentation.
Ruling: true when the pieces are larger than 128 MiB
Why: It forbids cutting up blocks above 128 MiB, and nothing else. Most memory in pieces is made of smaller blocks,
    and those it does not touch. Try settings on a recording of your own job: `oomph tune`.
Topic: The allocator
On an H200: GPT-2 with texts of all lengths held 24.57 GiB by default, and 29.9 GiB with this setting.
"""

import json
from collections.abc import Callable

import torch

MIB = 2**20


def take(size: int) -> torch.Tensor:
    return torch.empty(size * MIB, dtype=torch.uint8, device="cuda")


def large_pieces() -> None:
    """A tensor of 200 MiB goes into a free block of 600 and stays; then 600 are asked for again."""
    first = take(600)
    del first
    stays = take(200)
    take(600)
    del stays


def small_pieces() -> None:
    """Of 120 tensors of 6 MiB every third stays: 240 MiB; then 500 MiB are asked for."""
    stays = [take(6) for _ in range(120)][::3]
    take(500)
    del stays


def result(job: Callable[[], None], settings: str) -> str:
    torch._C._accelerator_setAllocatorSettings(settings)
    try:
        job()
    except torch.OutOfMemoryError:
        return "out of memory"
    finally:
        torch.cuda.empty_cache()
    return "runs"


torch.cuda.set_per_process_memory_fraction(1000 * MIB / torch.cuda.get_device_properties(0).total_memory)
default = [result(job, "") for job in (large_pieces, small_pieces)]
split = [result(job, "max_split_size_mb:128") for job in (large_pieces, small_pieces)]

assert default == ["out of memory", "out of memory"], "both die of memory in pieces"
assert split == ["runs", "out of memory"], "the setting cures the large pieces alone"
print(json.dumps({
    "limit": 1000,
    "blocks of 200 and 600 MiB": default[0],
    "blocks of 200 and 600 MiB, with the setting": split[0],
    "blocks of 6 MiB": default[1],
    "blocks of 6 MiB, with the setting": split[1],
}))
