"""
Claim: Run the longest batch first: then less is held, and a failure comes early.
Ruling: true
Why: If it does not fit, you know at once and not after a night. And the blocks that it leaves in the cache serve every
    shorter batch, while lengths that grow need new memory each time.
Topic: Training
"""

import json

import torch

MIB = 2**20
LENGTHS = range(256, 4097, 256)

model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(8)]).cuda()


def train(lengths: list[int]) -> tuple[float, float, int]:
    """The most in use, the most held, and the batch with the peak, from 1."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    peaks = []
    for length in lengths:
        model.zero_grad()
        model(torch.ones(4, length, 1024, device="cuda")).sum().backward()
        peaks.append(torch.cuda.max_memory_allocated() / MIB)
    return peaks[-1], torch.cuda.max_memory_reserved() / MIB, 1 + peaks.index(peaks[-1])


train([16])  # cuBLAS takes its workspace
short_first, long_first = train(sorted(LENGTHS)), train(sorted(LENGTHS, reverse=True))

assert short_first[0] == long_first[0], "the same is needed"
assert (short_first[2], long_first[2]) == (16, 1), "the first batch shows it, or the last"
assert long_first[1] < short_first[1] / 1.5, "and much less is held"
print(json.dumps({
    "most in use, in either order": long_first[0],
    "held, shortest first": short_first[1],
    "held, longest first": long_first[1],
    "the batch that needs most, shortest first": f"number {short_first[2]} of 16",
    "the batch that needs most, longest first": f"number {long_first[2]} of 16",
}))
