"""
Claim: Checkpointing the whole model as one piece saves the most.
Ruling: false
Why: In backward the whole piece is computed again and keeps all its activations then, so the peak is nearly the same
    as without. Checkpoint every layer or block by itself.
Topic: Training
"""

import json

import torch
from torch.utils.checkpoint import checkpoint

MIB = 2**20

# A block makes several activations, as a transformer's does.
blocks = [torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)]) for _ in range(8)]
model = torch.nn.Sequential(*blocks).cuda()


def peak(pieces: str) -> float:
    torch.cuda.reset_peak_memory_stats()
    model.zero_grad()
    x = torch.ones(8192, 512, device="cuda", requires_grad=True)
    if pieces == "whole":
        x = checkpoint(model, x, use_reentrant=False)
    else:
        for block in model:
            x = checkpoint(block, x, use_reentrant=False) if pieces == "blocks" else block(x)
    x.sum().backward()
    return torch.cuda.max_memory_allocated() / MIB


peak("none")  # cuBLAS takes its workspace
none, whole, by_block = peak("none"), peak("whole"), peak("blocks")

assert whole > 0.95 * none, "next to nothing is saved"
assert by_block < none / 1.5
print(json.dumps({
    "most in use without checkpointing": none,
    "the whole model as one piece": whole,
    "every block by itself": by_block,
}))
