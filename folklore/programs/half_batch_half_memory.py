"""
Claim: Half the batch, half the memory.
Ruling: true when activations are nearly all there is
Why: Weights, gradients and optimizer state do not depend on the batch. What halves is the rest. Two measurements tell
    you: the difference is what half a batch costs.
Topic: Training
"""

import json

import torch

MIB = 2**20


def peak(width: int, layers: int, batch_size: int) -> float:
    model = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(layers)]).cuda()
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    for _ in range(2):
        torch.cuda.reset_peak_memory_stats()
        model(torch.ones(batch_size, width, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return torch.cuda.max_memory_allocated() / MIB


wide, wide_half = peak(4096, 4, 512), peak(4096, 4, 256)
long, long_half = peak(256, 4, 262144), peak(256, 4, 131072)

assert wide_half > 0.9 * wide, "much in weights: hardly anything"
assert 0.5 < long_half / long < 0.55, "much in activations: nearly half"
print(json.dumps({
    "256 MiB of weights, batch 512": wide,
    "256 MiB of weights, batch 256": wide_half,
    "1 MiB of weights, batch 262144": long,
    "1 MiB of weights, batch 131072": long_half,
}))
