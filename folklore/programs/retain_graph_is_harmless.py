"""
Claim: `retain_graph=True` is harmless.
Ruling: false
Why: All activations stay after `backward()` until the loss goes, so the next step's come on top. If an error told you
    to add it, you use a result of an earlier step: `detach()` that instead.
Topic: Training
"""

import json

import torch

MIB = 2**20

model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(8)]).cuda()
batch = torch.ones(4096, 1024, device="cuda")


def run(retain: bool) -> tuple[float, float]:
    """In use after backward, and the most in use over two steps."""
    torch.cuda.reset_peak_memory_stats()
    for _ in range(2):
        model.zero_grad()
        loss = model(batch).sum()
        loss.backward(retain_graph=retain)
    return torch.cuda.memory_allocated() / MIB, torch.cuda.max_memory_allocated() / MIB


run(False)  # cuBLAS takes its workspace
plain, plain_peak = run(False)
retained, retained_peak = run(True)

assert retained - plain >= 7 * 16, "the activations of 16 MiB between 8 layers are still there"
assert retained_peak - plain_peak >= 4 * 16, "and the next step's come on top"
print(json.dumps({
    "in use after `backward()`": plain,
    "in use after `backward(retain_graph=True)`": retained,
    "most in use over two steps": plain_peak,
    "most in use over two steps, retained": retained_peak,
}))
