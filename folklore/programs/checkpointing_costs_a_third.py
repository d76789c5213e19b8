"""
Claim: Gradient checkpointing costs a third more computing.
Ruling: true when every layer is checkpointed
Why: Backward is twice the work of forward, and checkpointing runs forward a second time: 4 instead of 3. With half of
    the layers checkpointed it costs half of that. Counted in floating-point operations, not in seconds.
Topic: Training
"""

import json

import torch
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

MIB = 2**20
LAYERS = 8


# A layer makes several activations, as a transformer's does.
def layer() -> torch.nn.Sequential:
    return torch.nn.Sequential(*[part for _ in range(4) for part in (torch.nn.Linear(512, 512), torch.nn.Tanh())])


model = torch.nn.Sequential(*[layer() for _ in range(LAYERS)]).cuda()


def step(checkpointed: int) -> None:
    """One step, with so many layers checkpointed."""
    model.zero_grad()
    x = torch.ones(8192, 512, device="cuda", requires_grad=True)
    for index, block in enumerate(model):
        x = checkpoint(block, x, use_reentrant=False) if index < checkpointed else block(x)
    x.sum().backward()


def operations(checkpointed: int) -> int:
    with FlopCounterMode(display=False) as counter:
        step(checkpointed)
    return int(counter.get_total_flops())


def peak(checkpointed: int) -> float:
    torch.cuda.reset_peak_memory_stats()
    step(checkpointed)
    return torch.cuda.max_memory_allocated() / MIB


plain, half, full = operations(0), operations(LAYERS // 2), operations(LAYERS)
plain_peak, half_peak, full_peak = peak(0), peak(LAYERS // 2), peak(LAYERS)

assert 3 * full == 4 * plain, "a third more, exactly"
assert 6 * half == 7 * plain, "half of the layers: a sixth more"
assert full_peak < half_peak < plain_peak
print(json.dumps({
    "operations, all layers checkpointed": f"{full / plain:.3f} times those without",
    "operations, half of the layers": f"{half / plain:.3f} times",
    "most in use without": plain_peak,
    "most in use, half of the layers": half_peak,
    "most in use, all layers": full_peak,
}))
