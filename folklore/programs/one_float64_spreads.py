"""
Claim: One number in float64 makes everything float64.
Ruling: false
Why: A number without dimensions does not change the type of a tensor; a tensor of float64 with dimensions does. Look
    at `x.dtype` where memory doubles.
Topic: Precision
"""

import json

import numpy
import torch

MIB = 2**20

x = torch.ones(MIB, device="cuda")
by_python = x * 2.5
by_scalar = x * torch.tensor(2.5, dtype=torch.float64, device="cuda")
by_numpy = x * numpy.float64(2.5)
by_vector = x * torch.ones(1, dtype=torch.float64, device="cuda")

assert by_python.nbytes == by_scalar.nbytes == by_numpy.nbytes == 4 * MIB, "a number does not spread"
assert by_vector.nbytes == 8 * MIB, "a tensor with one element does"
print(json.dumps({
    "a million numbers times 2.5": by_python.nbytes / MIB,
    "times a float64 without dimensions": by_scalar.nbytes / MIB,
    "times `numpy.float64(2.5)`": by_numpy.nbytes / MIB,
    "times a float64 tensor of shape (1,)": by_vector.nbytes / MIB,
}))
