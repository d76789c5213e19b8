"""cuDNN's attention, which PyTorch prefers on some cards and which the phantom cannot run: what it allocates is
allocated, in the same order."""

from __future__ import annotations

import warnings
from typing import Any

# Bytes of scratch memory that cuDNN's attention always asks for: measured on an H200, cuDNN 9.19 under PyTorch 2.11.
_LEAST = 256

# The registration lives as long as this does.
_kept: list[Any] = []


def replace(torch: Any) -> None:
    """Takes the place of cuDNN's two functions for tensors on the card."""
    if not hasattr(torch.ops.aten, "_scaled_dot_product_cudnn_attention"):
        return
    library = torch.library.Library("aten", "IMPL")
    _kept.append(library)

    def scratch(size: int, like: Any) -> None:
        torch.empty((size,), dtype=torch.uint8, device=like.device)

    def forward(
        query: Any,
        key: Any,
        value: Any,
        attn_bias: Any,
        compute_log_sumexp: bool,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        return_debug_mask: bool = False,
        *,
        scale: float | None = None,
    ) -> tuple[Any, ...]:
        batch, heads, rows, _ = query.shape
        seed = torch.empty((), dtype=torch.long, device=query.device)
        offset = torch.empty((), dtype=torch.long, device=query.device)
        output = _like(torch, query, (batch, heads, rows, value.shape[3]))
        sums = torch.empty((batch, heads, rows, 1), dtype=torch.float32, device=query.device) if compute_log_sumexp else None
        scratch(_LEAST, query)
        if sums is None:
            sums = torch.empty((0,), dtype=torch.float32, device=query.device)
        return output, sums, None, None, rows, key.shape[2], seed, offset, None

    def backward(
        grad_out: Any, query: Any, key: Any, value: Any, out: Any, logsumexp: Any, *rest: Any, **options: Any
    ) -> tuple[Any, Any, Any]:
        grads = torch.empty_like(query), torch.empty_like(key), torch.empty_like(value)
        batch, heads, rows, width = query.shape
        # The query's gradient is summed up in single precision, beside one number for each row.
        size = batch * heads * rows * 4 * (width + 1) + _LEAST
        if key.shape[1] != heads:
            # Gradients of keys and values are first made for every head, then added up by groups.
            size += batch * heads * key.shape[2] * (key.shape[3] + value.shape[3]) * key.element_size()
        scratch(size, query)
        return grads

    with warnings.catch_warnings():
        # That a function is replaced is meant.
        warnings.simplefilter("ignore")
        library.impl("_scaled_dot_product_cudnn_attention", forward, "CUDA")
        library.impl("_scaled_dot_product_cudnn_attention_backward", backward, "CUDA")


def _like(torch: Any, query: Any, shape: tuple[int, ...]) -> Any:
    """The output is laid out as the query is."""
    if tuple(query.shape) == shape:
        return torch.empty_like(query)
    order = sorted(range(4), key=lambda dim: query.stride(dim), reverse=True)
    fresh = torch.empty([shape[dim] for dim in order], dtype=query.dtype, device=query.device)
    return fresh.permute([order.index(dim) for dim in range(4)])
