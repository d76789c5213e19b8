"""The parameters that FSDP1 gathers for one of its units.

It gives them back while the GPU still computes with them, so PyTorch's allocator keeps them until the GPU is done. How many units'
parameters are held at a moment depends on how far the program runs ahead of the GPU: on a card two more than are in use were seen,
which is as many as FSDP lets be gathered at once. Here the GPU is always done.
"""

from __future__ import annotations

import functools
from typing import Any

# FSDP's own limit.
AT_ONCE = 2


class Gathered:
    """The largest unit."""

    def __init__(self) -> None:
        self._sizes: list[int] = []

    @property
    def most(self) -> int:
        """What may be held, in bytes. The first unit is the root, which keeps its parameters."""
        return AT_ONCE * max(self._sizes[1:], default=0)

    def watch(self, module: Any) -> None:
        """`torch.distributed.fsdp._flat_param` was imported."""
        handles = module.FlatParamHandle
        original = handles.init_flat_param_attributes

        @functools.wraps(original)
        def init(handle: Any) -> None:
            original(handle)
            gathered = getattr(handle.flat_param, "_full_param_padded", None)
            if gathered is not None:
                self._sizes.append(gathered.numel() * gathered.element_size())

        handles.init_flat_param_attributes = init
