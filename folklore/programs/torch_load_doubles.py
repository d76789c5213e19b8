"""
Claim: `torch.load` doubles GPU memory.
Ruling: true when the checkpoint was saved from the GPU and `map_location` is not given
Why: Tensors come back where they were saved from, beside the model that is already there. With `map_location="cpu"`
    they are read into host memory, and `load_state_dict` copies them into the weights.
Topic: Host memory
"""

import json
import os
import tempfile

import torch

MIB = 2**20

model = torch.nn.Linear(2048, 2048, bias=False, device="cuda")
weights = torch.cuda.memory_allocated() / MIB


def peak(**options: str) -> float:
    torch.cuda.reset_peak_memory_stats()
    model.load_state_dict(torch.load(path, **options))
    return torch.cuda.max_memory_allocated() / MIB


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "checkpoint.pt")
    torch.save(model.state_dict(), path)
    as_saved = peak()
    to_cpu = peak(map_location="cpu")

assert as_saved == 2 * weights, "the checkpoint beside the model"
assert to_cpu == weights
print(json.dumps({
    "in use by the model": weights,
    "most in use while loading": as_saved,
    'most in use with `map_location="cpu"`': to_cpu,
}))
