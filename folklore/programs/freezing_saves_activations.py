"""
Claim: Freezing layers saves their activations.
Ruling: true when the frozen layers come first
Why: If a trained layer comes before a frozen one, gradients must flow back through the frozen one, and its
    activations are needed. Frozen weights need no gradients and no optimizer state in either case.
Topic: Training
"""

import json

import torch

MIB = 2**20


def kept_by_graph(frozen: range) -> float:
    """What the graph keeps after the forward pass, with these of 8 layers frozen."""
    layers = [layer for _ in range(8) for layer in (torch.nn.Linear(1024, 1024), torch.nn.Tanh())]
    model = torch.nn.Sequential(*layers).cuda()
    for index in frozen:
        model[2 * index].requires_grad_(False)
    batch = torch.ones(4096, 1024, device="cuda")
    before = torch.cuda.memory_allocated()
    out = model(batch)
    return (torch.cuda.memory_allocated() - before) / MIB


kept_by_graph(range(0))  # cuBLAS takes its workspace
none, first, last = kept_by_graph(range(0)), kept_by_graph(range(6)), kept_by_graph(range(2, 8))

assert none == 8 * 16, "an activation of 16 MiB for every layer"
assert first == 3 * 16, "two trained layers, and what the first of them reads"
assert last == 8 * 16, "frozen behind a trained one: nothing saved"
print(json.dumps({
    "kept by the graph, nothing frozen": none,
    "the first 6 of 8 layers frozen": first,
    "the last 6 of 8 layers frozen": last,
}))
