"""
Claim: The number in nvidia-smi is what the model needs.
Ruling: false
Why: It counts the CUDA context and PyTorch's cache as well, and says nothing about the moment of the peak. Ask
    `torch.cuda.max_memory_allocated()`, or `oomph plan` before the run.
Topic: The allocator
On an H200: the context takes 527 MiB before any library, about 0.75 GiB after cuBLAS and cuDNN are in use.
"""

import json

import torch

MIB = 2**20

torch.cuda.init()
free, total = torch.cuda.mem_get_info()
context = total - free
for size in (100, 150, 200):
    x = torch.empty(size * MIB, dtype=torch.uint8, device="cuda")
    del x
needed = torch.cuda.max_memory_allocated()
cached = torch.cuda.memory_reserved()
free, total = torch.cuda.mem_get_info()
shown = total - free

assert needed == 200 * MIB
assert cached == 450 * MIB and torch.cuda.memory_allocated() == 0, "all of it is cache now"
assert shown == context + cached > 2 * needed, "what the card counts is context and cache"
print(json.dumps({
    "needed at once": needed / MIB,
    "in use at the end": 0,
    "held by PyTorch at the end": cached / MIB,
    "taken from the card, the context counted in": shown / MIB,
}))
