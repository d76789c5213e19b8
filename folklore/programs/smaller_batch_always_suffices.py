"""
Claim: Out of memory? A smaller batch always helps.
Ruling: false
Why: Only activations shrink with the batch. Weights, gradients and optimizer state stay, and if they alone do not
    fit, neither does batch 1: use fewer bytes for them (half precision, LoRA, another optimizer).
Topic: Training
"""

import json

import torch

MIB = 2**20


def train(layers: int, width: int, batch_size: int) -> str:
    """Two steps of Adam."""
    model = torch.nn.Sequential()
    try:
        for _ in range(layers):
            model.append(torch.nn.Linear(width, width, device="cuda"))
        optimizer = torch.optim.Adam(model.parameters(), foreach=False)
        for _ in range(2):
            model(torch.ones(batch_size, width, device="cuda")).sum().backward()
            optimizer.step()
    except torch.OutOfMemoryError:
        return "out of memory"
    return "runs"


torch.cuda.set_per_process_memory_fraction(1000 * MIB / torch.cuda.get_device_properties(0).total_memory)
small_model = {size: train(8, 1024, size) for size in (32768, 1)}
large_model = {size: train(24, 2048, size) for size in (32768, 1)}

assert small_model == {32768: "out of memory", 1: "runs"}, "32 MiB of weights: the batch was too large"
assert large_model == {32768: "out of memory", 1: "out of memory"}, "384 MiB of weights, 4 times: no batch fits"
print(json.dumps({
    "limit": 1000,
    "32 MiB of weights, batch 32768": small_model[32768],
    "32 MiB of weights, batch 1": small_model[1],
    "384 MiB of weights, batch 32768": large_model[32768],
    "384 MiB of weights, batch 1": large_model[1],
}))
