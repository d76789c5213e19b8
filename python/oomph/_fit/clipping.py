"""`torch.nn.utils.clip_grad_norm_`, which needs a little memory after the step has given back its own."""

from __future__ import annotations

import functools
from typing import Any

import torch

from .failures import is_failure, make_room, once, steadily


def install() -> None:
    """Norms are computed again where memory ran out, and each gradient is scaled once.

    `clip_grad_norm_` calls two functions, which are wrapped: so it does not matter how a program has imported it.
    Before PyTorch 2.6 there are no such functions, and clipping is as it was.
    """
    # torch.nn.utils has a function of the same name.
    import importlib

    module: Any = importlib.import_module("torch.nn.utils.clip_grad")
    if hasattr(module, "_get_total_norm") and hasattr(module, "_clip_grads_with_norm_"):
        module._get_total_norm = _norm(module._get_total_norm)
        module._clip_grads_with_norm_ = _clip(module._clip_grads_with_norm_)


def _norm(total_norm: Any) -> Any:
    @functools.wraps(total_norm)
    def norm(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        tensors = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        try:
            return total_norm(tensors, *args, **kwargs)
        except Exception as error:
            if not is_failure(error):
                raise
            failure = error
        make_room(failure)
        return steadily(lambda: total_norm(tensors, *args, **kwargs))

    return norm


def _clip(clip_grads: Any) -> Any:
    @functools.wraps(clip_grads)
    def clip(parameters: Any, max_norm: float, total_norm: Any, foreach: bool | None = None) -> None:
        parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
        gradients = [each.grad for each in parameters]
        versions = [None if each is None else each._version for each in gradients]
        try:
            clip_grads(parameters, max_norm, total_norm, foreach)
            return
        except Exception as error:
            if not is_failure(error):
                raise
            failure = error
        make_room(failure)
        for each, gradient, version in zip(parameters, gradients, versions):
            if gradient is not None and gradient._version == version:
                _clip_one(clip_grads, each, max_norm, total_norm)

    return clip


def _clip_one(clip_grads: Any, parameter: Any, max_norm: float, total_norm: Any) -> None:
    once(parameter.grad, lambda: clip_grads([parameter], max_norm, total_norm, False))
