"""`oomph.status`: who holds this machine's memory."""

from __future__ import annotations

import importlib.metadata
import json
import sys
import textwrap
from typing import Any

from oomph._oomph import Status as _Status
from oomph._oomph import format_size, read_status

# The report's width, and where its text begins.
_WIDTH = 80
_INDENT = 11


class Status:
    """Who held this machine's memory at one moment. Prints as `oomph status`, with a line on the PyTorch of this process."""

    def __init__(self, status: _Status, torch: str = "") -> None:
        self._status = status
        # What is known of PyTorch here; empty where there is none.
        self._torch = torch

    @property
    def text(self) -> str:
        """The screen of `oomph status`, and what this process's PyTorch is and holds."""
        lines = textwrap.wrap(
            self._torch, _WIDTH, initial_indent="  PyTorch  ", subsequent_indent=" " * _INDENT, break_on_hyphens=False
        )
        return self._status.text() + "".join(f"{line}\n" for line in lines)

    @property
    def data(self) -> dict[str, Any]:
        """The document of `oomph status --json`."""
        document: dict[str, Any] = json.loads(self._status.json())
        return document

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text.rstrip("\n")


def status() -> Status:
    """Each GPU and its processes, host memory and its limits, the allocator's settings, and which PyTorch is here and what
    it holds, as they are at this moment. Nothing is imported and no GPU is used for it."""
    return Status(read_status(), _torch_here())


def _torch_here() -> str:
    torch = sys.modules.get("torch")
    if torch is None:
        try:
            return f"{importlib.metadata.version('torch')} is installed, and not imported here"
        except importlib.metadata.PackageNotFoundError:
            return ""
    version, cuda = getattr(torch, "__version__", "?"), getattr(getattr(torch, "version", None), "cuda", None)
    if cuda is None:
        return f"{version}, made without CUDA: it cannot use NVIDIA's GPUs"
    made = f"{version}, made for CUDA {cuda}"
    if not torch.cuda.is_available():
        return f"{made}; it sees no GPU"
    if not torch.cuda.is_initialized():
        return f"{made}; it has used no GPU yet"
    held = (
        f"{format_size(torch.cuda.memory_reserved(n))} held here on GPU {n}, {format_size(torch.cuda.memory_allocated(n))} in use"
        for n in range(torch.cuda.device_count())
    )
    return "; ".join((made, *held))
