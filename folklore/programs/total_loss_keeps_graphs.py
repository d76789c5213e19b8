"""
Claim: `total += loss` instead of `loss.item()` keeps every step's graph.
Ruling: true when `backward()` has not run
Why: `backward()` frees the activations of the graph, so a training loop keeps nothing of it. A validation loop
    without `no_grad` keeps all activations of all batches. Write `loss.item()` in both.
Topic: Training
"""

import json

import torch

MIB = 2**20

model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.Tanh(), torch.nn.Linear(1024, 1)).cuda()
batch = torch.ones(4096, 1024, device="cuda")


def growth(trains: bool, item: bool) -> float:
    """What is in use after ten steps, more than after one."""
    total = 0.0
    for step in range(10):
        loss = model(batch).mean()
        if trains:
            loss.backward()
        total += loss.item() if item else loss
        if step == 0:
            after_one = torch.cuda.memory_allocated()
    return (torch.cuda.memory_allocated() - after_one) / MIB


validation, training, with_item = growth(False, False), growth(True, False), growth(False, True)

assert validation >= 9 * 16, "nine more graphs with activations of 16 MiB"
assert training == 0, "after backward nothing is left of a graph"
assert with_item == 0
print(json.dumps({
    "more in use after 9 more steps, no `backward()`": validation,
    "the same with `backward()`": training,
    "no `backward()`, with `loss.item()`": with_item,
}))
