"""
Claim: `best = model.state_dict()` keeps a second copy of the model.
Ruling: false
Why: It holds the weights themselves: it costs nothing, and it changes with the next step, so it is no backup either.
    For a backup that costs no GPU memory take `{name: w.cpu().clone() for name, w in model.state_dict().items()}`.
Topic: Letting go
"""

import copy
import json

import torch

MIB = 2**20


def in_use() -> float:
    return torch.cuda.memory_allocated() / MIB


model = torch.nn.Linear(4096, 4096, bias=False, device="cuda")
weights = in_use()
best = model.state_dict()
with_state = in_use()
same_memory = best["weight"].data_ptr() == model.weight.data_ptr()
deep = copy.deepcopy(best)
with_deep_copy = in_use()
del deep
on_cpu = {name: tensor.cpu().clone() for name, tensor in best.items()}
with_cpu_copy = in_use()

assert with_state == weights == 64 and same_memory, "the same weights"
assert with_deep_copy == 2 * weights
assert with_cpu_copy == weights and on_cpu["weight"].device.type == "cpu"
print(json.dumps({
    "in use by the model": weights,
    "with `model.state_dict()`": with_state,
    "with `copy.deepcopy` of it": with_deep_copy,
    "with a copy on the CPU": with_cpu_copy,
}))
