"""
Claim: Gradient accumulation gives the same result as the large batch.
Ruling: true when losses are weighted by what they average over, and no layer looks across the batch
Why: BatchNorm normalises over the small batch and gives other gradients. A mean over tokens must be divided by the
    tokens of all parts, not by the number of parts. On the CPU, in float64, because these are values and not memory.
Topic: Training
"""

import json

import torch

torch.manual_seed(0)
X, Y = torch.randn(8, 4, dtype=torch.float64), torch.randn(8, dtype=torch.float64)
TOKENS = torch.tensor([1, 1, 1, 1, 9, 9, 9, 9], dtype=torch.float64)  # in each text; 40 in all


def gradient(norm: bool, parts: int, weights: torch.Tensor, divide_by_all: bool) -> torch.Tensor:
    """The gradient of the mean over tokens, in so many parts."""
    torch.manual_seed(1)
    layers = [torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4) if norm else torch.nn.Tanh(), torch.nn.Linear(4, 1)]
    model = torch.nn.Sequential(*layers).double()
    for x, y, w in zip(X.chunk(parts), Y.chunk(parts), weights.chunk(parts), strict=True):
        errors = (w * (model(x)[:, 0] - y) ** 2).sum()
        (errors / weights.sum() if divide_by_all else errors / w.sum() / parts).backward()
    return model[0].weight.grad


def compared(norm: bool, weights: torch.Tensor, divide_by_all: bool) -> str:
    whole, parts = gradient(norm, 1, weights, True), gradient(norm, 2, weights, divide_by_all)
    return "the same gradient" if torch.allclose(whole, parts, rtol=1e-10, atol=1e-12) else "another gradient"


equal = torch.ones(8, dtype=torch.float64)
plain = compared(False, equal, divide_by_all=False)
batch_norm = compared(True, equal, divide_by_all=False)
mean_of_means = compared(False, TOKENS, divide_by_all=False)
by_tokens = compared(False, TOKENS, divide_by_all=True)

assert plain == by_tokens == "the same gradient"
assert batch_norm == mean_of_means == "another gradient"
print(json.dumps({
    "two parts of equal samples": plain,
    "two parts, with BatchNorm": batch_norm,
    "texts of 1 and 9 tokens, mean of the parts' means": mean_of_means,
    "texts of 1 and 9 tokens, divided by all 40": by_tokens,
}))
