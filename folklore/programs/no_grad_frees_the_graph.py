"""
Claim: `with torch.no_grad():` frees the graph.
Ruling: false
Why: It only keeps new operations from adding to a graph. What was computed before it keeps its activations as long as
    the result has a name. Put the forward pass inside, or `detach()`.
Topic: Evaluation
"""

import json

import torch

MIB = 2**20

model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(8)]).cuda()
batch = torch.ones(4096, 1024, device="cuda")
with torch.no_grad():
    model(batch)  # cuBLAS takes its workspace
before = torch.cuda.memory_allocated()


def more() -> float:
    return (torch.cuda.memory_allocated() - before) / MIB


out = model(batch)
with torch.no_grad():
    best = out.argmax(1)
    outside = more()
del out, best
with torch.no_grad():
    out = model(batch)
    best = out.argmax(1)
    inside = more()

assert outside >= 8 * 16, "the graph is still there"
assert 16 <= inside < 17, "the output alone"
print(json.dumps({
    "forward pass before `no_grad()`": outside,
    "forward pass inside `no_grad()`": inside,
}))
