"""cuDNN's attention, which PyTorch prefers on some cards and which the phantom cannot run: what it allocates is
allocated, in the same order."""

from __future__ import annotations

import warnings
from typing import Any

# The registration lives as long as this does.
_kept: list[Any] = []


def replace(torch: Any) -> None:
    """Takes the place of cuDNN's two functions for tensors on the card."""
    if not hasattr(torch.ops.aten, "_scaled_dot_product_cudnn_attention"):
        return
    library = torch.library.Library("aten", "IMPL")
    _kept.append(library)
    empty_like, empty = torch.empty_like, torch.empty

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
        columns, width = key.shape[2], value.shape[3]
        seed = torch.empty((), dtype=torch.long, device=query.device)
        offset = torch.empty((), dtype=torch.long, device=query.device)
        output = empty((batch, rows, heads, width), dtype=query.dtype, device=query.device).transpose(1, 2)
        sums = (
            empty((batch, heads, rows, 1), dtype=torch.float32, device=query.device)
            if compute_log_sumexp
            else empty((0,), dtype=torch.float32, device=query.device)
        )
        return output, sums, None, None, rows, columns, seed, offset, None

    def backward(
        grad_out: Any, query: Any, key: Any, value: Any, out: Any, logsumexp: Any, *rest: Any, **options: Any
    ) -> tuple[Any, Any, Any]:
        return empty_like(query), empty_like(key), empty_like(value)

    with warnings.catch_warnings():
        # That a function is replaced is meant.
        warnings.simplefilter("ignore")
        library.impl("_scaled_dot_product_cudnn_attention", forward, "CUDA")
        library.impl("_scaled_dot_product_cudnn_attention_backward", backward, "CUDA")
