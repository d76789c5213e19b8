"""Whether parts of a batch give its gradient: a program runs on the CPU up to its first update, once with some samples as
one batch and once with the same in parts, and notes its gradients. Nothing is random: generators begin alike, and nothing
is dropped."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from typing import Any

from . import updates

# Gradients are noted in so many groups of parameters.
GROUPS = 64


def prepare(torch: Any, note: Callable[[list[str]], None]) -> None:
    """Before the program has made anything. `note` is given the gradients of the first update, two numbers for each group of
    parameters, as texts."""
    random.seed(0)
    torch.manual_seed(0)
    try:
        import numpy

        numpy.random.seed(0)
    except ImportError:
        pass
    functional = torch.nn.functional
    for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
        setattr(functional, name, _kept(getattr(functional, name)))
    functional.scaled_dot_product_attention = _attention(functional.scaled_dot_product_attention)

    def note_gradients(optimizer: Any) -> None:
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        note([repr(number) for start in range(GROUPS) for number in _numbers(torch, parameters[start::GROUPS])])

    updates.before_each(note_gradients)


def _kept(original: Any) -> Any:
    @functools.wraps(original)
    def keep(input: Any, *args: Any, **kwargs: Any) -> Any:
        return input

    return keep


def _attention(original: Any) -> Any:
    @functools.wraps(original)
    def attention(query: Any, key: Any, value: Any, mask: Any = None, dropout: float = 0.0, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("dropout_p", None)
        return original(query, key, value, kwargs.pop("attn_mask", mask), 0.0, *args, **kwargs)

    return attention


def _numbers(torch: Any, parameters: list[Any]) -> tuple[float, float]:
    """The length of the gradients of some parameters, and their product with a direction that is the same in every run."""
    squares = product = 0.0
    for gradient in (each.grad for each in parameters if each.grad is not None):
        values = (gradient.to_dense() if gradient.is_sparse else gradient).detach().double().flatten()
        squares += float(values @ values)
        product += float(values @ torch.cos(torch.arange(len(values), dtype=torch.float64)))
    return math.sqrt(squares), product
