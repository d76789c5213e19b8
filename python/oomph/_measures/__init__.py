"""Measures that make a program need less memory, taken inside it as its own lines would: what `oomph plan` tries on the
phantom GPU and `oomph fit` runs with.

Like the recorder this folder is lent to programs whose environment has no oomph: it imports nothing of oomph but itself,
and nothing but the standard library until the program has imported PyTorch.
"""

from __future__ import annotations

from .measures import Measures

__all__ = ["Measures"]
