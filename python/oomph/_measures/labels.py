"""Parts of a batch weigh the same only if the loss averages over as many labels in each."""

from __future__ import annotations

import functools
from typing import Any

from . import updates, versions

REFUSAL = (
    "oomph fit: the loss leaves labels out (ignore_index) or weighs classes, so equal parts of a batch do not weigh the "
    "same, and the result would be another: run it with --without micro-batches"
)


def insist_on_equal(torch: Any) -> None:
    """Raises before an update whose parts had means over different numbers of labels: never a wrong step. The GPU is asked
    once an update."""
    left_out: list[Any] = []
    functional = torch.nn.functional

    def watched(original: Any) -> Any:
        @functools.wraps(original)
        def loss(input: Any, target: Any, weight: Any = None, *args: Any, **kwargs: Any) -> Any:
            names = ("size_average", "ignore_index", "reduce", "reduction")
            options = {**dict(zip(names, args)), **kwargs}
            is_mean = options.get("reduction", "mean") == "mean"
            if is_mean and torch.is_grad_enabled() and not versions.is_compiling(torch):
                if weight is not None:
                    raise RuntimeError(REFUSAL)
                if not target.is_floating_point():
                    left_out.append((target.detach() == options.get("ignore_index", -100)).any())
            return original(input, target, weight, *args, **kwargs)

        return loss

    functional.cross_entropy = watched(functional.cross_entropy)
    functional.nll_loss = watched(functional.nll_loss)

    def check(optimizer: Any) -> None:
        found = bool(torch.stack([each.to(left_out[0].device) for each in left_out]).any()) if left_out else False
        left_out.clear()
        if found:
            raise RuntimeError(REFUSAL)

    updates.before_each(check)
