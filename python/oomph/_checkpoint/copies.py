"""Copies in host memory: where state waits for the disk while the loop goes on."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from typing import Any


@dataclass
class Part:
    """A piece of memory, and what it is."""

    # `torch.float32`, `<f4` of NumPy, or `bytes`.
    kind: str
    shape: list[int]
    stride: list[int]
    memory: memoryview
    # What keeps the memory alive.
    owner: Any


class Copies:
    """Host memory for the state. It is allocated at the first checkpoint and used again for every other; it is pinned where
    the state comes from a GPU, so that the copy does not wait."""

    def __init__(self) -> None:
        self._buffers: list[Any] = []
        self._events: list[Any] = []

    def take(self, leaves: list[Any]) -> list[Part]:
        """Copies every leaf. Copies from a GPU may be under way: `wait` before they are read. What the program computes
        next on the same stream comes after them."""
        torch: Any = sys.modules.get("torch")
        parts, devices = [], set()
        for index, leaf in enumerate(leaves):
            if torch is not None and isinstance(leaf, torch.Tensor):
                parts.append(self._of_tensor(torch, index, leaf))
                if leaf.device.type == "cuda":
                    devices.add(leaf.device)
            else:
                self._slot(index)
                parts.append(_of_bytes(leaf) if isinstance(leaf, bytes) else _of_array(leaf))
        for device in devices:
            self._events.append(torch.cuda.current_stream(device).record_event())
        return parts

    def wait(self) -> None:
        """Returns when every copy is there."""
        for event in self._events:
            event.synchronize()
        self._events.clear()

    def _slot(self, index: int) -> Any:
        while len(self._buffers) <= index:
            self._buffers.append(None)
        return self._buffers[index]

    def _of_tensor(self, torch: Any, index: int, tensor: Any) -> Part:
        buffer = self._slot(index)
        is_on_gpu = tensor.device.type == "cuda"
        if (
            buffer is None
            or buffer.shape != tensor.shape
            or buffer.dtype != tensor.dtype
            or buffer.stride() != tensor.stride()
        ):
            # Of the same order in memory where that has no gaps, and without gaps in any case.
            buffer = torch.empty_like(tensor, device="cpu", pin_memory=is_on_gpu, requires_grad=False)
            self._buffers[index] = buffer
        with torch.no_grad():
            buffer.copy_(tensor, non_blocking=is_on_gpu)
        kind = str(buffer.dtype)
        return Part(kind, list(buffer.shape), list(buffer.stride()), memory_of(buffer), buffer)


def memory_of(tensor: Any) -> memoryview:
    """The bytes of a tensor in host memory that has no gaps."""
    size = tensor.numel() * tensor.element_size()
    if size == 0:
        return memoryview(bytearray())
    return memoryview((ctypes.c_char * size).from_address(tensor.data_ptr())).cast("B")


def _of_bytes(value: bytes) -> Part:
    return Part("bytes", [len(value)], [1], memoryview(value), value)


def _of_array(value: Any) -> Part:
    # The encoder made a copy, in C's order.
    flat = value.reshape(-1).view("u1") if value.size else value.reshape(-1)
    memory = memoryview(flat).cast("B") if value.size else memoryview(bytearray())
    return Part(value.dtype.str, list(value.shape), [], memory, value)


def empty(kind: str, shape: list[int], stride: list[int], size: int) -> tuple[Any, memoryview]:
    """Room for a part that is read: the tensor, array or bytes, and its memory. Raises ValueError where the description
    does not fit `size` bytes."""
    if kind == "bytes":
        room = bytearray(size)
        return room, memoryview(room)
    count = 1
    for length in shape:
        count *= length
    if any(type(number) is not int or number < 0 for number in [*shape, *stride]):
        raise ValueError("a shape that cannot be")
    if kind.startswith("torch."):
        return _empty_tensor(kind, shape, stride, size, count)
    import numpy

    dtype = numpy.dtype(kind)
    if dtype.hasobject or dtype.itemsize * count != size:
        raise ValueError("a part whose size is not that of its shape")
    array: Any = numpy.empty(shape, dtype)
    return array, memoryview(array.reshape(-1).view("u1")).cast("B") if size else memoryview(bytearray())


def _empty_tensor(kind: str, shape: list[int], stride: list[int], size: int, count: int) -> tuple[Any, memoryview]:
    torch: Any = sys.modules["torch"]
    dtype = getattr(torch, kind.removeprefix("torch."), None)
    if not isinstance(dtype, torch.dtype) or len(shape) != len(stride):
        raise ValueError(f"numbers of an unknown kind: {kind}")
    # The last element must be the last of `count`: then there are no gaps.
    last = sum((length - 1) * step for length, step in zip(shape, stride)) if count else -1
    if count * dtype.itemsize != size or last != count - 1:
        raise ValueError("a part whose size is not that of its shape")
    tensor = torch.empty_strided(shape, stride, dtype=dtype)
    return tensor, memory_of(tensor)
