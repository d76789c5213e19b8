"""
Claim: Gradient clipping makes a copy of all gradients.
Ruling: false
Why: `clip_grad_norm_` needs one norm for each tensor and scales the gradients in place. A norm written by hand as
    `torch.cat([p.grad.flatten() for p in ...]).norm()` does copy them all.
Topic: Training
"""

import json
from collections.abc import Callable

import torch

MIB = 2**20

model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024, bias=False) for _ in range(16)]).cuda()
for parameter in model.parameters():
    parameter.grad = torch.ones_like(parameter)


def extra(clip: Callable[[], object]) -> float:
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    clip()
    return (torch.cuda.max_memory_allocated() - before) / MIB


gradients = sum(parameter.grad.nbytes for parameter in model.parameters()) / MIB
clipped = extra(lambda: torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0))
by_hand = extra(lambda: torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).norm())

assert gradients == 64
assert clipped < 1, "a norm for each tensor"
assert by_hand >= gradients, "all of them once more"
print(json.dumps({
    "gradients": gradients,
    "most that `clip_grad_norm_` takes more": clipped,
    "most that `cat` and `norm` take more": by_hand,
}))
