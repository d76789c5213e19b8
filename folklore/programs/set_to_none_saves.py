"""
Claim: `zero_grad(set_to_none=True)` saves memory.
Ruling: true when activations make the peak
Why: The gradients are gone during the next forward pass instead of being zeros, which lowers the peak if it is there.
    With small activations the peak is at the end of backward, where all gradients exist anyway. It is the default.
Topic: Training
"""

import json

import torch

MIB = 2**20


def peak(batch_size: int, to_none: bool) -> float:
    model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048, bias=False) for _ in range(8)]).cuda()
    batch = torch.ones(batch_size, 2048, device="cuda")
    for _ in range(2):
        torch.cuda.reset_peak_memory_stats()
        model.zero_grad(set_to_none=to_none)
        model(batch).sum().backward()
    return torch.cuda.max_memory_allocated() / MIB


peak(16, True)  # cuBLAS takes its workspace
large_zeros, large_none = peak(16384, False), peak(16384, True)
small_zeros, small_none = peak(16, False), peak(16, True)

assert large_zeros - large_none >= 100, "8 gradients of 16 MiB are not there in the forward pass"
assert small_none > 8 * 2 * 16 and small_zeros - small_none < 20, "no more than one gradient's difference"
print(json.dumps({
    "most in use, batch 16384, gradients as zeros": large_zeros,
    "most in use, batch 16384, set to none": large_none,
    "most in use, batch 16, gradients as zeros": small_zeros,
    "most in use, batch 16, set to none": small_none,
}))
