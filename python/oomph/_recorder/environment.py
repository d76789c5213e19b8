"""Allocator settings that `oomph run --set` asked for, and the PyTorch that is there."""

from __future__ import annotations

import os
import re
from typing import Any

from . import complaint

VARIABLES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")


def _version() -> tuple[int, int] | None:
    """The version of the torch that an import would find, without importing it."""
    from importlib import metadata

    try:
        found = re.match(r"(\d+)\.(\d+)", metadata.version("torch"))
    except metadata.PackageNotFoundError:
        return None
    return (int(found[1]), int(found[2])) if found else None


def _entries(text: str) -> list[str]:
    """`a:1,b:[x:1,y:2]` in its entries; commas in brackets do not part."""
    return [entry for entry in re.split(r",(?![^\[]*\])", text) if entry.strip()]


def drop_unknown_settings(config: dict[str, Any]) -> None:
    """Takes back what this version of PyTorch would refuse to start with, and says so."""
    since: dict[str, list[int]] = config.get("since") or {}
    version = _version() if since else None
    if version is None:
        return
    unknown = {key for key, first in since.items() if version < tuple(first)}
    for key in sorted(unknown):
        first = ".".join(map(str, since[key]))
        complaint.once(
            f"{key} is not set", f"PyTorch {version[0]}.{version[1]} does not know it, {first} is the first that does"
        )
    if not unknown:
        return
    for variable in VARIABLES:
        text = os.environ.get(variable)
        if text is None:
            continue
        kept = [entry for entry in _entries(text) if entry.partition(":")[0].strip() not in unknown]
        if kept:
            os.environ[variable] = ",".join(kept)
        else:
            del os.environ[variable]
