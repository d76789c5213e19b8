"""
Claim: `detach()` makes a copy.
Ruling: false
Why: It is another name for the same memory, without the graph. So it costs nothing, and it frees nothing but the
    graph: `outputs.append(y.detach())` still fills the GPU. To free the GPU write `y.detach().cpu()`.
Topic: Letting go
"""

import json

import torch

MIB = 2**20


def in_use() -> float:
    return torch.cuda.memory_allocated() / MIB


x = torch.ones(64, MIB // 4, device="cuda", requires_grad=True)
before = in_use()
y = x.exp().exp()
with_graph = in_use()
z = y.detach()
both = in_use()
del y
detached = in_use()

assert with_graph - before == 128, "the result, and what its graph keeps"
assert both == with_graph, "no copy"
assert detached - before == 64, "the graph is gone, the values are still on the GPU"
print(json.dumps({
    "in use by the result and its graph": with_graph - before,
    "with its detached twin": both - before,
    "with the detached one alone": detached - before,
}))
