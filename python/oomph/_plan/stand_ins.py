"""Files of weights that a program saves and loads again in one run: they lie in the plan's folder, with shapes and no contents,
and what loads from where the program meant them to be is led there."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from .file_calls import absolute
from .hollow_tensors import LARGE, HollowTensors

# What safetensors calls the types of PyTorch.
_TYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32", "int16": "I16",
    "int8": "I8", "uint8": "U8", "bool": "BOOL", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "complex64": "C64",
    "uint16": "U16", "uint32": "U32", "uint64": "U64",
}  # fmt: skip


class StandIns:
    """By where the program saved something, where it lies instead."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}
        self._folder: str | None = None
        self._owner = 0
        self._hollow: HollowTensors | None = None

    def at_torch(self, hollow: HollowTensors) -> None:
        self._hollow = hollow

    def place(self, path: str) -> str:
        """Where a file or folder goes that the program saves here."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="saved-", dir=os.environ.get("OOMPH_RUN"))
            self._owner = os.getpid()
        if path == self._folder or path.startswith(self._folder + os.sep):
            return path
        if path not in self._paths:
            above = os.path.join(self._folder, str(len(self._paths)))
            os.mkdir(above)
            self._paths[path] = os.path.join(above, os.path.basename(path) or "root")
        return self._paths[path]

    def find(self, path: Any) -> Any:
        """Where that lies which the program would load from here; the same where it saved nothing there."""
        found = absolute(path) if isinstance(path, (str, os.PathLike)) and self._paths else None
        inner = ""
        while found is not None:
            if found in self._paths:
                return os.path.join(self._paths[found], inner) if inner else self._paths[found]
            above, name = os.path.split(found)
            inner = os.path.join(name, inner) if inner else name
            found = above if above != found else None
        return path

    def write(self, tensors: Mapping[str, Any], path: str, metadata: Mapping[str, str] | None) -> None:
        """A file in the format of safetensors. Small contents that are known are in it; all else is a hole, which takes no
        room on the disk."""
        header: dict[str, Any] = {} if metadata is None else {"__metadata__": dict(metadata)}
        pieces: list[tuple[int, Any]] = []
        end = 0
        for name, tensor in tensors.items():
            start, end = end, end + tensor.numel() * tensor.element_size()
            kind = _TYPES[str(tensor.dtype).removeprefix("torch.")]
            header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [start, end]}
            if self._is_known(tensor):
                pieces.append((start, tensor))
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        # The program's own `open` may be watched; this file is ours.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            begin = file.tell()
            for start, tensor in pieces if sys.byteorder == "little" else ():
                file.seek(begin + start)
                file.write(_bytes(tensor))
            file.truncate(begin + end)

    def _is_known(self, tensor: Any) -> bool:
        is_small = tensor.device.type == "cpu" and 0 < tensor.numel() * tensor.element_size() < LARGE
        return is_small and not (self._hollow is not None and self._hollow.knows(tensor))

    def remove(self) -> None:
        """Removes what lies there. A child of this process leaves it."""
        if self._folder is not None and self._owner == os.getpid():
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
            self._paths.clear()


def _bytes(tensor: Any) -> bytes:
    import ctypes

    flat = tensor.detach().contiguous()
    return ctypes.string_at(flat.data_ptr(), flat.numel() * flat.element_size())
