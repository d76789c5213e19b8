"""What lies under a tensor, and which frames are this package's own."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple


class Storage(NamedTuple):
    """The memory under a tensor. Views of one storage have the same device and address."""

    device: int
    address: int
    bytes: int

    @property
    def key(self) -> tuple[int, int]:
        return self.device, self.address


def storage_of(tensor: Any, kind: str = "cuda") -> Storage | None:
    """The memory under a tensor on a device of this kind; `None` where it is elsewhere or has none of its own: fake,
    sparse, nested, a wrapper, empty."""
    try:
        if tensor.device.type != kind:
            return None
        # A tensor that is spread over ranks wraps the part that is here.
        tensor = getattr(tensor, "_local_tensor", tensor)
        storage = tensor.untyped_storage()
        address = int(storage.data_ptr())
        return Storage(tensor.device.index or 0, address, storage.nbytes()) if address else None
    except Exception:
        # Each kind of tensor without a storage says so in its own way; a subclass may raise anything.
        return None


def has_graph(tensor: Any) -> bool:
    """Whether a graph made it, which it keeps alive."""
    try:
        return tensor.grad_fn is not None
    except Exception:
        return False  # A subclass may raise anything.


# `oomph`; or `_oomph_recorder`, where `oomph run` brought the recorder along.
_PACKAGE = __name__.partition(".")[0]


def is_own(frame: Any) -> bool:
    """Whether a frame runs code of this package."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == _PACKAGE


def own_frames() -> set[int]:
    """The frames of this package that stand innermost: their variables are not the program's."""
    own, frame = set(), sys._getframe()
    while frame is not None and is_own(frame):
        own.add(id(frame))
        frame = frame.f_back  # type: ignore[assignment]
    return own
