"""
Claim: LoRA needs only the memory of its adapters.
Ruling: false
Why: The large weights need no gradients and no optimizer state any more, but they stay on the GPU, and nearly all
    activations are kept, because gradients flow through every layer. Use checkpointing, and load the weights in fewer
    bits.
Topic: Training
"""

import json

import torch
from torch import nn

MIB = 2**20
WIDTH, RANK, LAYERS = 1024, 8, 8


def train(lora: bool) -> tuple[float, float, float]:
    """Adapter weights or all weights in training, in use between steps, and activations kept."""
    frozen = [nn.Linear(WIDTH, WIDTH, bias=False).cuda().requires_grad_(not lora) for _ in range(LAYERS)]
    down = [nn.Linear(WIDTH, RANK, bias=False).cuda() for _ in range(LAYERS if lora else 0)]
    up = [nn.Linear(RANK, WIDTH, bias=False).cuda() for _ in range(LAYERS if lora else 0)]
    trained = [layer.weight for layer in (down + up if lora else frozen)]
    optimizer = torch.optim.Adam(trained)
    batch = torch.ones(4096, WIDTH, device="cuda")
    base = torch.cuda.memory_allocated()
    for _ in range(2):
        x = batch
        before = torch.cuda.memory_allocated()
        for index in range(LAYERS):
            x = torch.tanh(frozen[index](x) + (up[index](down[index](x)) if lora else 0))
        activations = torch.cuda.memory_allocated() - before
        x.sum().backward()
        optimizer.step()
        del x
    weights = sum(weight.nbytes for weight in trained)
    all_weights = sum(layer.weight.nbytes for layer in frozen)
    return weights / MIB, (torch.cuda.memory_allocated() - base + all_weights) / MIB, activations / MIB


train(False)  # cuBLAS takes its workspace
full, full_between, full_activations = train(lora=False)
adapters, lora_between, lora_activations = train(lora=True)

assert (full, adapters) == (32, 0.5)
assert lora_between > 60 * adapters, "the frozen weights are still there"
assert full_between >= 4 * full > 3 * lora_between, "gradients and state of them are not"
assert lora_activations >= full_activations, "and all activations are"
print(json.dumps({
    "adapter weights": adapters,
    "weights, gradients and state, all trained": full_between,
    "weights, gradients and state, LoRA": lora_between,
    "activations, all trained": full_activations,
    "activations, LoRA": lora_activations,
}))
