"""
Claim: Data from NumPy takes twice the memory.
Ruling: true when nobody chose its type
Why: NumPy makes float64 by default, and `torch.from_numpy` and `torch.tensor` keep it: 8 bytes a number, and so in
    everything computed from it. Write `.astype(numpy.float32)`, or `.to("cuda", torch.float32)`.
Topic: Precision
"""

import json

import numpy
import torch

MIB = 2**20


def in_use(tensor: torch.Tensor) -> float:
    before = torch.cuda.memory_allocated()
    on_card = tensor.to("cuda")
    return (torch.cuda.memory_allocated() - before) / MIB


data = numpy.linspace(0, 1, MIB)
by_accident = torch.from_numpy(data)
chosen = torch.from_numpy(data.astype(numpy.float32))
from_list = torch.tensor([0.5, 1.5])
product = torch.ones(MIB) * by_accident

assert by_accident.dtype == torch.float64 and in_use(by_accident) == 8, "8 bytes a number"
assert chosen.dtype == torch.float32 and in_use(chosen) == 4, "4 bytes a number"
assert from_list.dtype == torch.float32, "PyTorch's own default is float32"
assert product.dtype == torch.float64, "and it spreads"
print(json.dumps({
    "a million numbers from NumPy": in_use(by_accident),
    "the same as float32": in_use(chosen),
    "float32 times that from NumPy": in_use(product),
}))
