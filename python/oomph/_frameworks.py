"""Frameworks that a part of oomph works with, imported when it is asked for."""

from __future__ import annotations

import importlib
import sys
from typing import Any


def framework(wanted: str, names: tuple[str, ...]) -> Any:
    """The first of these modules that is installed, those first that the program has imported; `wanted` needs it."""
    for name in sorted(names, key=lambda name: name not in sys.modules):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            # The framework is there, but something that it imports is missing.
            if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
                raise
    package = names[0].partition(".")[0]
    raise ImportError(f"{wanted} needs {package}, which is not installed: pip install {package}")
