"""
Claim: `model.eval()` and `torch.no_grad()` are the same.
Ruling: false
Why: `eval()` switches dropout and BatchNorm; activations are still kept for a backward that never comes. `no_grad()`
    keeps none, and leaves dropout on. For evaluation you want both.
Topic: Evaluation
"""

import json

import torch

MIB = 2**20

layers = [layer for _ in range(8) for layer in (torch.nn.Linear(1024, 1024), torch.nn.Dropout(0.5))]
model = torch.nn.Sequential(*layers).cuda()
batch = torch.ones(4096, 1024, device="cuda")


def kept() -> float:
    """What is in use with the output, more than before it."""
    before = torch.cuda.memory_allocated()
    out = model(batch)
    return (torch.cuda.memory_allocated() - before) / MIB


kept()  # cuBLAS takes its workspace
model.eval()
with_eval = kept()
model.train()
with torch.no_grad():
    with_no_grad = kept()
    dropout_is_on = model[1].training
    model.eval()
    with_both = kept()

assert with_eval >= 8 * 16, "every layer's input is kept"
assert with_no_grad == with_both == 16, "the output alone"
assert dropout_is_on, "no_grad does not switch dropout off"
print(json.dumps({
    "in use by the output with `eval()`": with_eval,
    "with `no_grad()`": with_no_grad,
    "with both": with_both,
    "dropout with `no_grad()` alone": "on" if dropout_is_on else "off",
}))
