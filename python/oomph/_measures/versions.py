"""What versions of PyTorch call differently."""

from __future__ import annotations

from typing import Any


def is_compiling(torch: Any) -> bool:
    """Whether a compiler looks at what is run, and would look at ours too."""
    asked = getattr(getattr(torch, "compiler", None), "is_compiling", None)
    return bool(asked()) if asked is not None else bool(torch.jit.is_tracing())


def is_autocast(torch: Any, device: str) -> bool:
    """Whether autocast is on for a kind of device."""
    try:
        return bool(torch.is_autocast_enabled(device))
    except TypeError:
        # Before 2.4 there is one question for each.
        return bool(torch.is_autocast_cpu_enabled() if device == "cpu" else torch.is_autocast_enabled())


def element_size(torch: Any, dtype: Any) -> int:
    """The bytes of an element; types know them from 2.1 on."""
    return int(torch.empty(0, dtype=dtype).element_size())
