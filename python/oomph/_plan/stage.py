"""Sees every call of a PyTorch function that Python makes, and keeps the program on its way."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .hollow_tensors import LARGE_FACTORY, HollowTensors
from .questions import Questions
from .shadows import Shadows
from .shapes import Shapes
from .undrawn import Undrawn


def _name(func: Any) -> str:
    return getattr(func, "__name__", "")


class Stage(TorchFunctionMode):  # type: ignore[misc]
    """Inside this mode large weights stay unfilled and small values are known."""

    def __init__(self, questions: Questions) -> None:
        super().__init__()
        self.hollow = HollowTensors(torch)
        self.shadows = Shadows(torch, questions)
        self._shapes = Shapes(torch, self.shadows, questions)
        self._undrawn = Undrawn(torch)
        self._hide()
        self._compiling = torch._guards.TracingContext.try_get

    def _hide(self) -> None:
        """Programs that ask whether somebody sees their calls are told of others than us: PyTorch's own attention takes other
        ways then."""
        original = torch.overrides.has_torch_function

        @functools.wraps(original)
        def has_torch_function(arguments: Any) -> bool:
            modes = torch.overrides._get_current_function_mode_stack()
            if not modes or modes[-1] is not self:
                return bool(original(arguments))
            with torch.overrides._pop_mode_temporarily():
                return bool(original(arguments))

        torch.overrides.has_torch_function = has_torch_function

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if kwargs is None:
            kwargs = {}
        if self._compiling() is not None:
            # The compiler computes with shapes alone.
            return func(*args, **kwargs)
        try:
            done, result = self._without(func, args, kwargs)
            if done:
                return result
        except (RuntimeError, TypeError, AttributeError):
            # A call that cannot be answered here is left to PyTorch.
            pass
        self._undrawn.before(_name(func))
        return self.shadows.call(func, args, kwargs)

    def _without(self, func: Any, args: Any, kwargs: Any) -> tuple[bool, Any]:
        """The result of a function that need not be run, or cannot be."""
        hollow = self.hollow
        if func in hollow.factories:
            return self._unfilled(func, args, kwargs)
        if func in hollow.initialisers or (not args and "tensor" in kwargs and _name(func).endswith("_")):
            # Functions of torch.nn.init are seen with their arguments by name; transformers puts its own in their
            # place for a while, which call them.
            target = args[0] if args else kwargs.get("tensor", kwargs.get("input"))
            if hollow.is_large(target):
                self._undrawn.note(_name(func), target, kwargs.get("generator"))
                return True, hollow.note(target)
        elif args and hollow._storages and hollow.is_large(args[0]) and hollow.knows(args[0]):
            if func in hollow.copies:
                return self._copied(func, args, kwargs)
            name = _name(func)
            if name.endswith("_") and not name.endswith("__") and name not in ("requires_grad_", "share_memory_"):
                # In place on what has no contents: nothing to do, unless its kind changes.
                self._undrawn.note(name, args[0], kwargs.get("generator"))
                return (name not in ("set_", "resize_", "t_", "transpose_", "squeeze_", "unsqueeze_", "detach_")), args[0]
        known = self._shapes.handler(func)
        return (False, None) if known is None else known(func, args, kwargs)

    def _unfilled(self, func: Any, args: Any, kwargs: Any) -> tuple[bool, Any]:
        device = kwargs.get("device")
        if kwargs.get("out") is not None or (device is not None and torch.device(device).type != "cpu"):
            return False, None
        like = args[0] if args and isinstance(args[0], torch.Tensor) else None
        if like is not None and (device is None and like.device.type != "cpu"):
            return False, None
        if device is None and like is None and torch.get_default_device().type != "cpu":
            return False, None
        result = func(*args, **{**kwargs, "device": "meta"})
        if not result.is_floating_point() or result.numel() * result.element_size() < LARGE_FACTORY:
            return False, None
        fresh = torch.empty_strided(result.shape, result.stride(), dtype=result.dtype)
        self._undrawn.note(_name(func), fresh, kwargs.get("generator"))
        return True, self.hollow.note(fresh.requires_grad_(bool(kwargs.get("requires_grad"))))

    def _copied(self, func: Any, args: Any, kwargs: Any) -> tuple[bool, Any]:
        source = args[0]
        described = torch.empty_strided(source.shape, source.stride(), dtype=source.dtype, device="meta")
        words = [*args[1:], *kwargs.values()]
        if any(isinstance(word, torch.Tensor) and word.device.type != "cpu" for word in words):
            return False, None
        names = [word for word in words if isinstance(word, (str, torch.device, int)) and not isinstance(word, bool)]
        if any(torch.device(name).type != "cpu" for name in names):
            return False, None
        kept = [word for word in args[1:] if not isinstance(word, (str, torch.device, torch.Tensor))]
        named = {key: word for key, word in kwargs.items() if key != "device"}
        result = func(described, *kept, **named)
        if result.dtype == source.dtype and func is not torch.Tensor.clone and func is not torch.clone:
            if result.stride() == source.stride():
                return True, source
        return True, self.hollow.like(source, result)
