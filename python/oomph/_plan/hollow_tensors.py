"""Large tensors in the host's memory that nobody fills.

A model is built on the CPU and then moved to the card. Its weights need addresses there, not contents: memory that is
reserved and never written costs nothing. Which storages are hollow is kept by weak references, so that an address that
is used again for something real is never mistaken for one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# From this size on, filling a tensor is worth avoiding.
LARGE = 1 << 20

_INITIALISERS = ("normal_", "uniform_", "log_normal_", "cauchy_", "exponential_", "geometric_", "zero_", "fill_")
_FACTORIES = ("randn", "rand", "zeros", "ones", "full", "randn_like", "rand_like", "zeros_like", "ones_like", "full_like")
_COPIES = ("to", "half", "bfloat16", "float", "double", "clone", "contiguous", "type", "detach_copy")
# Factories are asked for contents more often than parameters are: only where it is worth much.
LARGE_FACTORY = 16 << 20


class HollowTensors:
    """The large tensors that were left unfilled, and the functions that would fill one."""

    def __init__(self, torch: Any) -> None:
        from torch.multiprocessing.reductions import StorageWeakRef

        self._torch = torch
        self._weak: Callable[[Any], Any] = StorageWeakRef
        self._storages: dict[int, Any] = {}
        tensor = torch.Tensor
        self.initialisers = {getattr(tensor, name) for name in _INITIALISERS if hasattr(tensor, name)}
        # The module's own functions of these names are others than the tensor's.
        self.initialisers |= {getattr(torch, name) for name in _INITIALISERS if hasattr(torch, name)}
        # These call the tensor's inside themselves, where nobody looks.
        init = torch.nn.init
        self.initialisers |= {getattr(init, name) for name in dir(init) if name.endswith("_") and not name.endswith("__")}
        self.copies = {getattr(tensor, name) for name in _COPIES if hasattr(tensor, name)} | {torch.clone}
        self.factories = {getattr(torch, name) for name in _FACTORIES}

    def is_large(self, tensor: Any) -> bool:
        """Whether it lies in the host's memory, holds real numbers, and is worth the trouble."""
        return (
            isinstance(tensor, self._torch.Tensor)
            and tensor.device.type == "cpu"
            and tensor.layout == self._torch.strided
            and tensor.is_floating_point()
            and tensor.numel() * tensor.element_size() >= LARGE
        )

    def knows(self, tensor: Any) -> bool:
        """Whether what lies under a tensor was never filled."""
        if not self._storages:
            return False
        return tensor.untyped_storage()._cdata in self._storages

    def note(self, tensor: Any) -> Any:
        """Notes that a tensor is left unfilled, and gives it back."""
        storage = tensor.untyped_storage()
        if storage._cdata not in self._storages:
            if len(self._storages) % 4096 == 4095:
                self._storages = {key: weak for key, weak in self._storages.items() if not weak.expired()}
            # The weak reference keeps the address from being given to another storage.
            self._storages[storage._cdata] = self._weak(storage)
        return tensor

    def like(self, tensor: Any, result: Any) -> Any:
        """An unfilled tensor of the shape and type of `result`, which was computed without contents."""
        fresh = self._torch.empty_strided(result.shape, result.stride(), dtype=result.dtype)
        return self.note(fresh.requires_grad_(tensor.requires_grad and result.requires_grad))
