"""
Claim: Mixed precision halves training memory.
Ruling: true when activations are nearly all there is
Why: Under autocast weights, gradients and optimizer state stay in 4 bytes, and half-precision copies of the weights
    come on top. Only activations shrink. With small batches and large models it needs more than before.
Topic: Precision
"""

import json

import torch

MIB = 2**20


def peak(width: int, layers: int, batch_size: int, autocast: bool) -> float:
    model = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(layers)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
    batch = torch.ones(batch_size, width, device="cuda")
    for _ in range(2):
        torch.cuda.reset_peak_memory_stats()
        with torch.autocast("cuda", torch.float16, enabled=autocast):
            loss = model(batch).sum()
        loss.backward()
        del loss
        optimizer.step()
        optimizer.zero_grad()
    return torch.cuda.max_memory_allocated() / MIB


peak(256, 1, 16, True)  # cuBLAS takes its workspace
long, long_mixed = peak(512, 48, 16384, False), peak(512, 48, 16384, True)
wide, wide_mixed = peak(2048, 8, 16, False), peak(2048, 8, 16, True)

assert 0.5 < long_mixed / long < 0.65, "much in activations: nearly half"
assert wide_mixed > wide, "much in weights: more than before"
print(json.dumps({
    "48 MiB of weights, batch 16384": long,
    "48 MiB of weights, batch 16384, autocast": long_mixed,
    "128 MiB of weights, batch 16": wide,
    "128 MiB of weights, batch 16, autocast": wide_mixed,
}))
