"""State as plain values: what `state_dict` gives becomes text that JSON can hold, and a list of tensors beside it.

A list stays a list. Everything else that JSON does not know is an object whose `is` says what it is. Reading it back makes
only what is listed here; nothing in a file can name a class or a function to call.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

from oomph._oomph import OomphError

Leaf = Any
_PLAIN = (type(None), bool, int, float, str)
# The kinds of mappings that are told apart. Reading a `defaultdict` gives a dict: its factory is code.
_MAPPINGS: dict[type, str] = {dict: "dict", OrderedDict: "ordered", Counter: "counter", defaultdict: "dict"}
_SEQUENCES: dict[type, str] = {tuple: "tuple", set: "set", frozenset: "frozenset", deque: "deque"}


class Encoder:
    """Turns state into plain values. `leaves` are the tensors, arrays and bytes that it met, each once."""

    def __init__(self) -> None:
        self.leaves: list[Leaf] = []
        # Parts that share memory (tied weights) are kept once. The leaves keep their memory from being used again.
        self._seen: dict[tuple[Any, ...], int] = {}

    def encode(self, value: Any, place: str) -> Any:
        """The value as JSON can hold it; `place` is what it is called in a complaint."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is list:
            return [self.encode(item, f"{place}[{index}]") for index, item in enumerate(value)]
        if kind in _MAPPINGS:
            return self._mapping(value, _MAPPINGS[kind], place)
        if kind in _SEQUENCES:
            return {"is": _SEQUENCES[kind], "of": [self.encode(item, f"{place}[…]") for item in value]}
        if kind in (bytes, bytearray):
            return self._leaf("bytes", bytes(value), None)
        return self._of_torch(value, place) or self._of_numpy(value) or self._refuse(value, place)

    def _mapping(self, value: Any, name: str, place: str) -> dict[str, Any]:
        pairs = [
            [self.encode(key, f"a key of {place}"), self.encode(item, f"{place}[{key!r}]")] for key, item in value.items()
        ]
        found: dict[str, Any] = {"is": name, "of": pairs}
        # The versions of modules, which `Module.state_dict` leaves beside its entries.
        metadata = getattr(value, "_metadata", None)
        if name == "ordered" and metadata is not None:
            found["metadata"] = self.encode(metadata, f"the metadata of {place}")
        return found

    def _of_torch(self, value: Any, place: str) -> dict[str, Any] | None:
        torch: Any = sys.modules.get("torch")
        if torch is None:
            return None
        if isinstance(value, torch.Size):
            return {"is": "size", "of": list(value)}
        if isinstance(value, torch.dtype):
            return {"is": "dtype", "of": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device):
            return {"is": "device", "of": str(value)}
        if not isinstance(value, torch.Tensor):
            return None
        _check_tensor(torch, value, place)
        tensor = value.detach()
        key = (tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
        return self._leaf("tensor", tensor, key if tensor.numel() else None)

    def _of_numpy(self, value: Any) -> dict[str, Any] | None:
        numpy: Any = sys.modules.get("numpy")
        if numpy is None or not isinstance(value, (numpy.ndarray, numpy.generic)) or value.dtype.hasobject:
            return None
        is_scalar = isinstance(value, numpy.generic)
        return self._leaf("scalar" if is_scalar else "array", numpy.array(value, order="C"), None)

    def _refuse(self, value: Any, place: str) -> Any:
        kind = type(value)
        raise OomphError(
            f"{place} is a {kind.__module__}.{kind.__qualname__}, which a checkpoint cannot hold: it holds numbers, texts, "
            "tensors, arrays, and dicts, lists, tuples and sets of these"
        )

    def _leaf(self, name: str, leaf: Leaf, key: tuple[Any, ...] | None) -> dict[str, Any]:
        index = self._seen.get(key) if key is not None else None
        if index is None:
            index = len(self.leaves)
            self.leaves.append(leaf)
            if key is not None:
                self._seen[key] = index
        return {"is": name, "at": index}


def _check_tensor(torch: Any, tensor: Any, place: str) -> None:
    if hasattr(tensor, "device_mesh"):
        raise OomphError(
            f"{place} is a DTensor (FSDP2, tensor parallel), of which each rank has a part: oomph.checkpoint saves models "
            "that every rank has whole (DDP); use torch.distributed.checkpoint for this one"
        )
    is_plain = tensor.layout is torch.strided and not tensor.is_quantized and not tensor.is_meta
    if not is_plain or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        raise OomphError(f"{place} is a {type(tensor).__name__} of layout {tensor.layout}: a checkpoint holds plain tensors")


def decode(value: Any, leaves: list[Leaf]) -> Any:
    """The state again. Raises ValueError where the text is not one that `Encoder` makes."""
    if type(value) in _PLAIN:
        return value
    if type(value) is list:
        return [decode(item, leaves) for item in value]
    if type(value) is not dict:
        raise ValueError("not a value of a checkpoint")
    name = value.get("is")
    if name in ("tensor", "array", "scalar", "bytes"):
        index = value.get("at")
        if type(index) is not int or not 0 <= index < len(leaves):
            raise ValueError("a part that is not there")
        return leaves[index][()] if name == "scalar" else leaves[index]
    inner = value.get("of")
    if name in ("dtype", "device") and type(inner) is str:
        return _torch_word(name, inner)
    if type(inner) is not list:
        raise ValueError(f"a {name} of nothing")
    if name in ("dict", "ordered", "counter"):
        return _mapping(name, inner, value.get("metadata"), leaves)
    items = [decode(item, leaves) for item in inner]
    if name == "size":
        return sys.modules["torch"].Size(items)
    made = {"tuple": tuple, "set": set, "frozenset": frozenset, "deque": deque}.get(str(name))
    if made is None:
        raise ValueError(f"a {name}, which is unknown")
    return made(items)


def _mapping(name: str, pairs: list[Any], metadata: Any, leaves: list[Leaf]) -> Any:
    made: Any = {"dict": dict, "ordered": OrderedDict, "counter": Counter}[name]()
    for pair in pairs:
        if type(pair) is not list or len(pair) != 2:
            raise ValueError("an entry without a value")
        made[decode(pair[0], leaves)] = decode(pair[1], leaves)
    if metadata is not None and name == "ordered":
        made._metadata = decode(metadata, leaves)
    return made


def _torch_word(name: str, text: str) -> Any:
    torch: Any = sys.modules["torch"]
    if name == "device":
        return torch.device(text)
    found = getattr(torch, text, None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"no type of numbers is called {text}")
    return found
