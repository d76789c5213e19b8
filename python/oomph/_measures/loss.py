"""The loss on logits, in chunks of rows. Plain `cross_entropy` keeps the log-softmax of all logits for the backward pass,
and has two more tensors of that size there. In chunks it keeps the logits, which the program holds anyway, and makes only
their gradient. Rows are summed in another order: the same up to rounding."""

from __future__ import annotations

import functools
from typing import Any

from . import versions

# Logits with less than this are not worth it: bytes of their log-softmax.
SMALLEST = 64 << 20
# How much of the log-softmax there is at a time.
CHUNK = 32 << 20


class Losses:
    """Sees every call of `cross_entropy`, and computes those in chunks that can be, if that is asked for. All others are
    PyTorch's own."""

    def __init__(
        self,
        torch: Any,
        found: dict[str, Any],
        *,
        chunks: bool,
        device: str = "cuda",
        smallest: int = SMALLEST,
    ) -> None:
        self._torch = torch
        self._found = found
        self._device = device
        self._smallest = smallest
        self.chunked = 0
        functional = torch.nn.functional
        original = functional.cross_entropy
        loss = in_chunks(torch, original) if chunks else None

        @functools.wraps(original)
        def cross_entropy(
            input: Any,
            target: Any,
            weight: Any = None,
            size_average: Any = None,
            ignore_index: int = -100,
            reduce: Any = None,
            reduction: str = "mean",
            label_smoothing: float = 0.0,
        ) -> Any:
            is_plain = weight is None and size_average is None and reduce is None and reduction in ("mean", "sum")
            if is_plain and self._is_large(input, target):
                size = input.numel() * 4
                found["logits"] = max(found.get("logits", 0), size)
                if loss is not None:
                    self.chunked += 1
                    return loss(input, target, ignore_index, reduction, label_smoothing)
            return original(
                input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing
            )

        functional.cross_entropy = cross_entropy

    def _is_large(self, logits: Any, target: Any) -> bool:
        """Rows of logits with a class each, that are trained on, in plain PyTorch: no subclass, compiler or transform."""
        torch = self._torch
        return (
            type(logits) is torch.Tensor
            and type(target) is torch.Tensor
            and logits.device.type == self._device
            and logits.device == target.device
            and logits.dim() == 2
            and target.dim() == 1
            and logits.shape[0] == target.shape[0]
            and target.dtype == torch.long
            and logits.is_floating_point()
            and logits.numel() * 4 >= self._smallest
            and logits.requires_grad
            and torch.is_grad_enabled()
            and not versions.is_compiling(torch)
            and not _is_transformed(torch)
        )


def _is_transformed(torch: Any) -> bool:
    """Whether a transform of torch.func is at work, which wants to see PyTorch's own operations."""
    is_active = getattr(torch._C, "_are_functorch_transforms_active", None)
    return is_active is None or bool(is_active())


def in_chunks(torch: Any, original: Any, chunk: int = CHUNK) -> Any:
    """The loss as a function of logits, classes, the class to ignore, the reduction and the smoothing. `original` is
    PyTorch's."""

    def parts(logits: Any, target: Any, ignored: int, wide: Any) -> Any:
        """Rows, their classes as a column, and those that count. A class to ignore need not be a class."""
        step = max(1, chunk // (logits.shape[1] * versions.element_size(torch, wide)))
        for first in range(0, logits.shape[0], step):
            rows = slice(first, first + step)
            counts = target[rows] != ignored
            yield rows, target[rows].where(counts, 0).unsqueeze(1), counts

    class InChunks(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, logits: Any, target: Any, ignored: int, reduction: str, smoothing: float) -> Any:
            classes = logits.shape[1]
            # Half precision is computed in full, and rounded at the end. Under autocast the loss stays in full.
            wide = torch.promote_types(logits.dtype, torch.float32)
            is_autocast = versions.is_autocast(torch, logits.device.type)
            ctx.dtype = wide if is_autocast else logits.dtype
            losses = torch.zeros(logits.shape[0], dtype=wide, device=logits.device)
            for rows, column, counts in parts(logits, target, ignored, wide):
                log = torch.log_softmax(logits[rows], 1, dtype=wide)
                each = -log.gather(1, column).squeeze(1)
                if smoothing:
                    each = (1 - smoothing) * each - smoothing / classes * log.sum(1)
                losses[rows] = each.where(counts, 0.0)
                # Gone before the next chunk is made.
                del log
            count = (target != ignored).sum() if reduction == "mean" else None
            ctx.save_for_backward(logits, target, *([] if count is None else [count]))
            ctx.asked = (ignored, reduction, smoothing)
            total = losses.sum()
            return (total if count is None else total / count).to(ctx.dtype)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            logits, target, *count = ctx.saved_tensors
            ignored, reduction, smoothing = ctx.asked
            if torch.is_grad_enabled():
                # A gradient of the gradient is wanted: PyTorch's own operations have one.
                again = original(
                    logits.to(ctx.dtype), target, ignore_index=ignored, reduction=reduction, label_smoothing=smoothing
                )
                return (*torch.autograd.grad(again, logits, grad, create_graph=True), None, None, None, None)
            wide = torch.promote_types(logits.dtype, torch.float32)
            each = grad.to(wide) / count[0] if count else grad.to(wide)
            made = torch.empty_like(logits)
            for rows, column, counts in parts(logits, target, ignored, wide):
                part = torch.softmax(logits[rows], 1, dtype=wide)
                part.scatter_add_(1, column, part.new_full((), smoothing - 1).expand(column.shape))
                if smoothing:
                    part -= smoothing / logits.shape[1]
                part *= each.where(counts, 0.0).unsqueeze(1)
                made[rows] = part
                del part
            return made, None, None, None, None

    return InChunks.apply
