"""
Claim: With flash attention the memory of attention grows linearly with the length.
Ruling: true when the flash kernel is really used
Why: It never makes the table of all pairs. The plain computation does: twice the length, four times the memory. The
    flash kernel takes half precision alone, and no mask of your own, which would be such a table itself.
Topic: Training
"""

import json

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

MIB = 2**20


def extra(length: int, backend: SDPBackend, dtype: torch.dtype = torch.float16, **mask: torch.Tensor) -> float:
    """The most in use beside queries, keys and values."""
    query = torch.ones(1, 8, length, 64, dtype=dtype, device="cuda", requires_grad=True)
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    with sdpa_kernel(backend):
        scaled_dot_product_attention(query, query, query, **mask).sum().backward()
    return (torch.cuda.max_memory_allocated() - before) / MIB


def refused(**options: object) -> bool:
    try:
        extra(1024, SDPBackend.FLASH_ATTENTION, **options)
    except RuntimeError as error:
        return "No available kernel" in str(error)
    return False


extra(1024, SDPBackend.MATH)  # cuBLAS takes its workspace
flash, flash_double = extra(4096, SDPBackend.FLASH_ATTENTION), extra(8192, SDPBackend.FLASH_ATTENTION)
plain, plain_double = extra(4096, SDPBackend.MATH), extra(8192, SDPBackend.MATH)

assert 1.9 < flash_double / flash < 2.1, "twice the length: twice the memory"
assert 3.8 < plain_double / plain < 4.2, "twice the length: four times the memory"
assert refused(dtype=torch.float32)
assert refused(attn_mask=torch.ones(1024, 1024, dtype=torch.bool, device="cuda"))
print(json.dumps({
    "4096 tokens, flash": flash,
    "8192 tokens, flash": flash_double,
    "4096 tokens, plain": plain,
    "8192 tokens, plain": plain_double,
}))
