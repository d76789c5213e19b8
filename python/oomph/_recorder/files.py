"""Writing so that whoever reads sees a whole file: the one before or the one after, never a part."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from typing import IO, Any


def _replace(path: str, write: Callable[[IO[bytes]], object]) -> None:
    beside = f"{path}.{os.getpid()}.part"
    try:
        with open(beside, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        try:
            os.unlink(beside)
        except OSError:
            pass
        raise


def write_pickle(path: str, value: Any) -> None:
    """Protocol 4: the newest that PyTorch's viewer reads."""
    _replace(path, lambda file: pickle.dump(value, file, protocol=4))


def write_json(path: str, value: Any) -> None:
    text = json.dumps(value, separators=(",", ":"), default=str).encode()
    _replace(path, lambda file: file.write(text))


def claim(folder: str, name: str) -> bool:
    """Takes a name in a folder for this process; false where another has it."""
    try:
        descriptor = os.open(os.path.join(folder, f".{name}.claim"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "w") as file:
        file.write(str(os.getpid()))
    return True
