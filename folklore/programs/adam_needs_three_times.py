"""
Claim: Adam needs 3 times the model.
Ruling: false
Why: Weights, gradients and two moments make 4 times the weights, and the step itself needs room beside them: about 5
    in all by default. Activations come on top. SGD makes 2, SGD with momentum 3.
Topic: Training
"""

import json
from collections.abc import Callable

import torch

MIB = 2**20


def times(make: Callable[..., torch.optim.Optimizer]) -> tuple[float, float]:
    """In use after two steps, and the most in use in the second, in multiples of the weights."""
    model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024, bias=False) for _ in range(16)]).cuda()
    weights = sum(parameter.nbytes for parameter in model.parameters())
    optimizer = make(model.parameters())
    for _ in range(2):
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        torch.cuda.reset_peak_memory_stats()
        optimizer.step()
    return torch.cuda.memory_allocated() / weights, torch.cuda.max_memory_allocated() / weights


adam, adam_peak = times(torch.optim.Adam)
sgd, _ = times(lambda weights: torch.optim.SGD(weights, lr=0.1))
momentum, _ = times(lambda weights: torch.optim.SGD(weights, lr=0.1, momentum=0.9))

assert round(adam, 2) == 4, "weights, gradients, two moments"
assert adam_peak > 4.5, "and room for the step"
assert (round(sgd, 2), round(momentum, 2)) == (2, 3)
print(json.dumps({
    "Adam, after the step": f"{adam:.2f} times the weights",
    "Adam, during the step": f"{adam_peak:.2f} times",
    "SGD, after the step": f"{sgd:.2f} times",
    "SGD with momentum, after the step": f"{momentum:.2f} times",
}))
