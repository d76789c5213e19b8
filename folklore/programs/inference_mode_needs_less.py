"""
Claim: `torch.inference_mode()` needs less GPU memory than `torch.no_grad()`.
Ruling: false
Why: Both keep no activations, and need the same memory to the byte. `inference_mode` is a little quicker, and its
    results cannot be used in training afterwards.
Topic: Evaluation
"""

import json

import torch

MIB = 2**20

model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(8)]).cuda()
batch = torch.ones(4096, 1024, device="cuda")


def peak(mode: type) -> float:
    with mode():
        model(batch)  # cuBLAS takes its workspace
        torch.cuda.reset_peak_memory_stats()
        out = model(batch)
    return torch.cuda.max_memory_allocated() / MIB


graph, no_grad, inference = peak(torch.enable_grad), peak(torch.no_grad), peak(torch.inference_mode)

assert inference == no_grad, "the same"
assert no_grad < graph - 4 * 16, "and both less than with a graph"
print(json.dumps({
    "most in use with a graph": graph,
    "most in use with `no_grad()`": no_grad,
    "most in use with `inference_mode()`": inference,
}))
