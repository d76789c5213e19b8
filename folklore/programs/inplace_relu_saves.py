"""
Claim: `ReLU(inplace=True)` saves an activation in every layer.
Ruling: false
Why: Backward of a ReLU needs its output alone, so its input is freed at once in either case. In place saves one
    activation at the moment of computing, not one a layer.
Topic: Training
"""

import json

import torch

MIB = 2**20


def measure(inplace: bool, layers: int = 8) -> tuple[float, float]:
    """What the graph keeps, and the most in use in the forward pass."""
    pairs = [layer for _ in range(layers) for layer in (torch.nn.Linear(1024, 1024), torch.nn.ReLU(inplace))]
    model = torch.nn.Sequential(*pairs).cuda()
    batch = torch.ones(4096, 1024, device="cuda")
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    out = model(batch)
    return (torch.cuda.memory_allocated() - before) / MIB, (torch.cuda.max_memory_allocated() - before) / MIB


measure(False)  # cuBLAS takes its workspace
kept, peak = measure(inplace=False)
inplace_kept, inplace_peak = measure(inplace=True)

assert kept == inplace_kept == 8 * 16, "the graph keeps one activation a layer in either case"
assert peak - inplace_peak == 16, "one activation less at the peak, of eight layers"
print(json.dumps({
    "kept by the graph": kept,
    "kept by the graph, in place": inplace_kept,
    "most in use in the forward pass": peak,
    "most in use, in place": inplace_peak,
}))
