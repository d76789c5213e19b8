"""Memory of the host that copies to and from the card go through, and the streams that they run on."""

from __future__ import annotations

from typing import Any

from . import versions

# PyTorch rounds pinned memory up to a power of two: so it is taken in pieces that are one, and cut here.
PIECE = 64 << 20
# What each cut begins at a multiple of, in bytes.
ALIGNED = 512


class Arena:
    """Pinned memory, taken once and never given back. One for each type: what a tensor is saved with is a whole piece,
    which PyTorch only saves under one type. Where there is no card memory is not pinned."""

    def __init__(self, torch: Any, device: str) -> None:
        self._torch = torch
        self._is_pinned = device == "cuda"
        # The last piece of each type, and how many of its elements are taken.
        self._pieces: dict[Any, tuple[Any, int]] = {}

    def like(self, tensor: Any) -> Any:
        """A tensor on the host of this one's size, type and order of elements."""
        flat = self._take(tensor.numel(), tensor.dtype)
        return flat.as_strided(tensor.shape, _dense_strides(tensor), flat.storage_offset())

    def _take(self, count: int, dtype: Any) -> Any:
        each = versions.element_size(self._torch, dtype)
        piece, taken = self._pieces.get(dtype, (None, 0))
        if piece is None or piece.numel() - taken < count:
            size = max(PIECE, 1 << (count * each - 1).bit_length())
            piece = self._torch.empty(size // each, dtype=dtype, pin_memory=self._is_pinned)
            taken = 0
        step = ALIGNED // each
        self._pieces[dtype] = (piece, min(piece.numel(), taken + -(-count // step) * step))
        return piece[taken : taken + count]


def is_dense(tensor: Any) -> bool:
    """Whether a tensor's elements fill its part of the memory, each once, in whatever order."""
    return bool(tensor.is_contiguous() or _dense_strides(tensor) == tensor.stride())


def _dense_strides(tensor: Any) -> tuple[int, ...]:
    """The strides of a tensor without gaps whose dimensions lie in the order of this one's."""
    strides = [0] * tensor.dim()
    step = 1
    for at in sorted(range(tensor.dim()), key=lambda at: (tensor.stride(at), -at)):
        strides[at] = step
        step *= tensor.shape[at]
    return tuple(strides)


class Streams:
    """A stream for copies to the host and one for copies from it, beside the one that computes."""

    def __init__(self, torch: Any, device: Any) -> None:
        self._torch = torch
        self._device = device
        self.out = torch.cuda.Stream(device)
        self.back = torch.cuda.Stream(device)

    def current(self) -> Any:
        """The stream that computes."""
        return self._torch.cuda.current_stream(self._device)

    def copy(self, to: Any, from_: Any, stream: Any, after: Any = None) -> Any:
        """Copies when what computes has come this far, and a copy is done; gives what tells that this one is."""
        stream.wait_stream(self.current())
        if after is not None:
            stream.wait_event(after)
        with self._torch.cuda.stream(stream):
            to.copy_(from_, non_blocking=True)
        return stream.record_event()

    def wait(self, done: Any, stream: Any) -> None:
        """What computes on a stream goes on when a copy is done."""
        stream.wait_event(done)

    def finish(self, stream: Any) -> None:
        """The program goes on when the copies of a stream are done."""
        stream.synchronize()


class NoStreams:
    """Where there is no card a copy is done at once."""

    out = back = None

    def current(self) -> Any:
        return None

    def copy(self, to: Any, from_: Any, stream: Any, after: Any = None) -> Any:
        to.copy_(from_)

    def wait(self, done: Any, stream: Any) -> None:
        pass

    def finish(self, stream: Any) -> None:
        pass


def streams(torch: Any, device: Any) -> Any:
    """The streams of a device."""
    return Streams(torch, device) if device.type == "cuda" else NoStreams()
