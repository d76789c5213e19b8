"""
Claim: A function that multiplies matrices and returns nothing leaves its intermediates on the GPU.
Ruling: false
Why: Names inside a function go when it returns, and their memory with them. What stays after the first multiplication
    is cuBLAS's workspace, taken once; the rest is cache, which the next call uses again.
Topic: Letting go
"""

import json

import torch

MIB = 2**20


def multiply() -> None:
    a = torch.ones(4096, 4096, device="cuda")
    b = a @ a
    b @ b


multiply()
after_one = torch.cuda.memory_allocated()
peak = torch.cuda.max_memory_allocated()
for _ in range(9):
    multiply()
after_ten = torch.cuda.memory_allocated()
torch._C._cuda_clearCublasWorkspaces()
without_workspace = torch.cuda.memory_allocated()

assert peak - after_one >= 3 * 64 * MIB, "three matrices of 64 MiB were there at once"
assert after_ten == after_one, "nine more calls leave nothing more"
assert without_workspace == 0, "all that was left is cuBLAS's workspace"
print(json.dumps({
    "most in use inside the function": peak / MIB,
    "in use after one call": after_one / MIB,
    "in use after ten calls": after_ten / MIB,
    "in use without cuBLAS's workspace": without_workspace / MIB,
}))
