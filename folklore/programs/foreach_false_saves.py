"""
Claim: `foreach=False` in the optimizer saves memory.
Ruling: true when the optimizer's step is the peak
Why: By default the step works on all weights at once and makes temporary copies of them; one by one it needs one of
    them at a time, `fused=True` none at all. If activations make the peak, nothing is gained.
Topic: Training
"""

import json

import torch

MIB = 2**20


def peaks(batch_size: int, **options: bool) -> tuple[float, float]:
    """The most in use in the optimizer's step, and in the whole second iteration."""
    model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024, bias=False) for _ in range(16)]).cuda()
    optimizer = torch.optim.Adam(model.parameters(), **options)
    batch = torch.ones(batch_size, 1024, device="cuda")
    for _ in range(2):
        torch.cuda.reset_peak_memory_stats()
        model(batch).sum().backward()
        before_step = torch.cuda.max_memory_allocated() / MIB
        torch.cuda.reset_peak_memory_stats()
        optimizer.step()
        in_step = torch.cuda.max_memory_allocated() / MIB
        optimizer.zero_grad()
    return in_step, max(in_step, before_step)


peaks(16)  # cuBLAS takes its workspace
default, default_all = peaks(16)
one_by_one, one_by_one_all = peaks(16, foreach=False)
fused, _ = peaks(16, fused=True)
large_default, large_one_by_one = peaks(65536)[1], peaks(65536, foreach=False)[1]

assert default - one_by_one > 50, "64 MiB of weights: temporary copies of most of them"
assert one_by_one_all < default_all, "small batch: the peak is lower"
assert fused <= one_by_one
assert large_one_by_one == large_default, "large batch: the peak is elsewhere"
print(json.dumps({
    "most in use in the step": default,
    "with `foreach=False`": one_by_one,
    "with `fused=True`": fused,
    "most in use in the iteration, batch 65536": large_default,
    "with `foreach=False`, batch 65536": large_one_by_one,
}))
