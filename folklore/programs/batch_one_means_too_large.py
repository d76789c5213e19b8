"""
Claim: Out of memory with batch size 1: the model is too large for this GPU.
Ruling: false
Why: One long text or one large image can need more than the weights. Look at what the peak is made of; checkpointing,
    a shorter length or smaller crops may let the same model run.
Topic: Training
"""

import json

import torch
from torch.utils.checkpoint import checkpoint

MIB = 2**20

# A layer makes several activations, as a transformer's does.
layers = [torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)]) for _ in range(4)]
model = torch.nn.Sequential(*layers).cuda()
weights = sum(parameter.nbytes for parameter in model.parameters()) / MIB


def train(length: int, checkpoints: bool) -> str:
    """Forward and backward of one text of this length."""
    model.zero_grad()
    try:
        x = torch.ones(1, length, 512, device="cuda", requires_grad=True)
        for layer in model:
            x = checkpoint(layer, x, use_reentrant=False) if checkpoints else layer(x)
        x.sum().backward()
    except torch.OutOfMemoryError:
        return "out of memory"
    return "runs"


torch.cuda.set_per_process_memory_fraction(1000 * MIB / torch.cuda.get_device_properties(0).total_memory)
long, checkpointed, short = train(32768, False), train(32768, True), train(8192, False)

assert weights < 20, "the model is small"
assert (long, short) == ("out of memory", "runs"), "one long text does not fit, a shorter one does"
assert checkpointed == "runs", "and the long one fits with checkpointing"
print(json.dumps({
    "limit": 1000,
    "weights": weights,
    "one text of 32768 tokens": long,
    "one text of 32768 tokens, checkpointing": checkpointed,
    "one text of 8192 tokens": short,
}))
