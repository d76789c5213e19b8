"""Changes to a program that are tried on the phantom: each is what a user would do in a line or two."""

from __future__ import annotations

from typing import Any


def apply(torch: Any, changes: dict[str, Any], remarks: list[str]) -> None:
    """Makes the changes that were asked for."""
