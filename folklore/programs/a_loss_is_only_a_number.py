"""
Claim: The loss is one number, so it costs nothing.
Ruling: false
Why: To get it, `cross_entropy` makes a table as large as the logits, and backward another: for a vocabulary of 50,000
    that is often more than the model. Compute the loss on parts of the sequence, or use a fused one.
Topic: Training
"""

import json

import torch
from torch.nn.functional import cross_entropy

MIB = 2**20

logits = torch.ones(1024, 50_000, device="cuda", requires_grad=True)
targets = torch.zeros(1024, dtype=torch.int64, device="cuda")
size = logits.nbytes / MIB
before = torch.cuda.memory_allocated()
loss = cross_entropy(logits, targets)
with_loss = (torch.cuda.memory_allocated() - before) / MIB
torch.cuda.reset_peak_memory_stats()
loss.backward()
peak = (torch.cuda.max_memory_allocated() - before) / MIB

assert loss.numel() == 1
assert size <= with_loss < size + 1, "a table as large as the logits is kept for backward"
assert peak >= 2 * size, "and another is made in it"
print(json.dumps({
    "logits of 1024 tokens": size,
    "more in use with the loss": with_loss,
    "most more in use in backward": peak,
}))
