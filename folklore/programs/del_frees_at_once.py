"""
Claim: `del x` frees the memory of `x` at once.
Ruling: true when nothing else refers to the tensor
Why: `del` takes away a name. The memory goes with the last thing that refers to it, and that may be a view, a list, a
    closure or a graph. Look for that one.
Topic: Letting go
"""

import json

import torch

MIB = 2**20


def in_use() -> float:
    return torch.cuda.memory_allocated() / MIB


x = torch.ones(64, MIB // 4, device="cuda")
before = in_use()
del x
alone = in_use()

x = torch.ones(64, MIB // 4, device="cuda")
first_row = x[0]
del x
with_a_view = in_use()
del first_row

x = torch.ones(64, MIB // 4, device="cuda", requires_grad=True)
y = (x * x).sum()
del x
with_a_graph = in_use()
del y

assert (before, alone) == (64, 0), "the only name: free at once"
assert with_a_view == 64, "a view of one row keeps all rows"
assert with_a_graph > 64, "the graph of a result keeps its inputs"
assert in_use() == 0
print(json.dumps({
    "in use before `del x`": before,
    "after it, nothing else refers to it": alone,
    "after it, with a view of one row": with_a_view,
    "after it, with a result whose graph needs it": with_a_graph,
}))
