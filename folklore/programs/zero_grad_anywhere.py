"""
Claim: It does not matter where in the step `zero_grad()` stands.
Ruling: false
Why: Between forward and backward it comes too late: the old gradients were there during the whole forward pass. Call
    it right after `optimizer.step()`, or before the forward pass.
Topic: Training
"""

import json

import torch

MIB = 2**20

model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048, bias=False) for _ in range(32)]).cuda()
batch = torch.ones(4096, 2048, device="cuda")


def peak(before_forward: bool) -> float:
    for _ in range(3):
        torch.cuda.reset_peak_memory_stats()
        if before_forward:
            model.zero_grad()
        loss = model(batch).sum()
        if not before_forward:
            model.zero_grad()
        loss.backward()
        del loss
    return torch.cuda.max_memory_allocated() / MIB


early, late = peak(before_forward=True), peak(before_forward=False)
gradients = sum(parameter.nbytes for parameter in model.parameters()) / MIB

assert gradients == 512
assert late - early >= 400, "the old gradients and all activations at once"
print(json.dumps({"most in use, before the forward pass": early, "most in use, before `backward()`": late}))
