"""A Triton kernel as users write them, for compiled_job.py."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit  # type: ignore[misc]
def _squared_relu(x, y, count, block: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * block + tl.arange(0, block)
    value = tl.maximum(tl.load(x + at, mask=at < count), 0.0)
    tl.store(y + at, value * value, mask=at < count)


def squared_relu(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    count = x.numel()
    _squared_relu[(triton.cdiv(count, 1024),)](x, y, count, block=1024)
    return y
