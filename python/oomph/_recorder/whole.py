"""Whether the checkpoint of another program is whole, as far as its files tell without being loaded."""

from __future__ import annotations

import os
from json import loads
from typing import Any
from zipfile import is_zipfile

# Hugging Face's Trainer writes it last.
STATE = "trainer_state.json"
# The longest text that is read.
LONGEST = 1 << 28


def hugging_face(folder: str) -> str | None:
    """Why a `checkpoint-N` of a Trainer cannot be used; None where it can."""
    if not os.path.isfile(os.path.join(folder, STATE)):
        return f"it has no {STATE}, which is written last"
    try:
        if not isinstance(_json(os.path.join(folder, STATE)).get("global_step"), int):
            return f"{STATE} names no step"
        for name in sorted(os.listdir(folder)):
            why = _damage(folder, name)
            if why is not None:
                return f"{name} {why}"
    except (OSError, ValueError, AttributeError) as error:
        return f"it cannot be read ({type(error).__name__}: {error})"
    return None


def archive(path: str) -> str | None:
    """Why a file of `torch.save` cannot be used; None where it can, or where it is of a kind that nothing is known of."""
    if os.path.isdir(path):
        # A checkpoint of many files, by a strategy of its own.
        return None
    with open(path, "rb") as file:
        begins = file.read(2)
    if not begins:
        return "is empty"
    # Such an archive begins with these letters, and its list of contents is at its end.
    return "is cut off" if b"PK".startswith(begins) and not is_zipfile(path) else None


def _damage(folder: str, name: str) -> str | None:
    path = os.path.join(folder, name)
    if name.endswith(".safetensors"):
        return _safetensors(path)
    if name.endswith(".index.json"):
        parts = set(_json(path)["weight_map"].values())
        lacking = sorted(part for part in parts if not os.path.isfile(os.path.join(folder, str(part))))
        return f"names {lacking[0]}, which is not there" if lacking else None
    if name.endswith((".pt", ".pth", ".bin")) and os.path.isfile(path):
        return archive(path)
    return None


def _safetensors(path: str) -> str | None:
    """Such a file begins with the length of a text, which says where every tensor ends."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, LONGEST):
            return "is cut off"
        rows = loads(file.read(length))
    ends = [row["data_offsets"][1] for name, row in rows.items() if name != "__metadata__"]
    return None if size == 8 + length + max(ends, default=0) else "is not as long as it says"


def _json(path: str) -> Any:
    with open(path, "rb") as file:
        return loads(file.read(LONGEST))
