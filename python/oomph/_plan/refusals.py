"""What a phantom GPU cannot do, said in words."""

from __future__ import annotations

from typing import Any


def watch(torch: Any, remarks: list[str]) -> None:
    """Notes what is done otherwise than the program asks."""
    import functools

    original = torch.compile

    @functools.wraps(original)
    def compile(*args: Any, **kwargs: Any) -> Any:
        remarks.append("torch.compile: planned without it, since a compiled kernel cannot be run here; it needs other memory")
        return original(*args, **kwargs)

    torch.compile = compile
