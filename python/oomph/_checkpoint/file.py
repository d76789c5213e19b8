"""One checkpoint file: written whole or not at all, and believed only where every checksum is right.

    8 bytes    "OOMPHCK1"
    …          the parts, one after the other
    …          the contents, as JSON: what is where, and a checksum for each part
    8 bytes    the length of the contents
    16 bytes   the checksum of the contents
    8 bytes    "1KCHPMOO"

Checksums are BLAKE2b of 16 bytes. They find damage; they do not prove who wrote a file. Reading makes plain values, tensors
and arrays, and runs nothing that the file says.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import IO, Any, TypeVar

from . import disk
from .copies import Part, empty
from .say import reason

FORMAT = 1
_HEAD, _TAIL = b"OOMPHCK1", b"1KCHPMOO"
_SUM = 16
_END = 8 + _SUM + len(_TAIL)
# No contents are longer: a part takes some 200 bytes there.
_LONGEST = 1 << 30

_Result = TypeVar("_Result")


class Damaged(Exception):
    """A file that is not a whole checkpoint; its text says why."""


@dataclass
class Found:
    """What stands in a whole file."""

    # Format, step, time and whatever else the writer put there.
    facts: dict[str, Any]
    tree: Any
    leaves: list[Any]


def _sum(data: memoryview | bytes) -> bytes:
    return blake2b(data, digest_size=_SUM).digest()


def write(path: str, beside: str, facts: dict[str, Any], tree: Any, parts: list[Part]) -> None:
    """Writes a file under the name `beside`, brings it to the disk and gives it its name `path`, which is in the same
    folder. If that fails, nothing is left but what was there before."""
    number = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            _fill(number, facts, tree, parts)
            disk.sync(number)
        finally:
            os.close(number)
        disk.replace(beside, path)
    except BaseException:
        try:
            os.unlink(beside)
        except OSError:
            pass
        raise
    disk.sync_folder(os.path.dirname(path))


def _fill(number: int, facts: dict[str, Any], tree: Any, parts: list[Part]) -> None:
    rows, at = [], len(_HEAD)
    disk.write(number, _HEAD)
    for part in parts:
        rows.append([part.kind, part.shape, part.stride, at, len(part.memory), _sum(part.memory).hex()])
        disk.write(number, part.memory)
        at += len(part.memory)
    contents = json.dumps({"format": FORMAT, "facts": facts, "tree": tree, "parts": rows}, separators=(",", ":")).encode()
    disk.write(number, contents)
    disk.write(number, len(contents).to_bytes(8, "little") + _sum(contents) + _TAIL)


def read_facts(path: str) -> dict[str, Any]:
    """What a file says of itself, without its parts. Raises `Damaged`."""
    return _guarded(path, lambda file, size: dict(_contents(file, size)["facts"]))


def read(path: str) -> Found:
    """All of a file, every checksum verified. Raises `Damaged`."""
    return _guarded(path, _whole)


def _guarded(path: str, use: Callable[[IO[bytes], int], _Result]) -> _Result:
    try:
        # Nothing is waited for, and nothing is followed.
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise Damaged("it is not a file")
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(path, flags), "rb") as file:
            return use(file, os.fstat(file.fileno()).st_size)
    except Damaged:
        raise
    except OSError as error:
        raise Damaged(reason(error)) from None
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError, MemoryError, RuntimeError) as error:
        raise Damaged(f"it cannot be read ({reason(error)})") from None


def _contents(file: IO[bytes], size: int) -> dict[str, Any]:
    if size == 0:
        raise Damaged("it is empty")
    if file.read(len(_HEAD)) != _HEAD:
        raise Damaged("it does not begin like a checkpoint")
    if size < len(_HEAD) + _END:
        raise Damaged("it is cut off")
    file.seek(size - _END)
    end = file.read(_END)
    if end[-len(_TAIL) :] != _TAIL:
        raise Damaged("its end is missing")
    length = int.from_bytes(end[:8], "little")
    if length > min(_LONGEST, size - len(_HEAD) - _END):
        raise Damaged("its end does not fit it")
    file.seek(size - _END - length)
    text = file.read(length)
    if _sum(text) != end[8 : 8 + _SUM]:
        raise Damaged("the checksum of its contents is wrong")
    contents: dict[str, Any] = json.loads(text)
    if contents["format"] != FORMAT:
        raise Damaged(f"it is of format {contents['format']}, and this oomph reads format {FORMAT}")
    contents["ends"] = size - _END - length
    return contents


def _whole(file: IO[bytes], size: int) -> Found:
    contents = _contents(file, size)
    leaves, at = [], len(_HEAD)
    for index, (kind, shape, stride, begins, length, checksum) in enumerate(contents["parts"]):
        if begins != at or not 0 <= length <= contents["ends"] - at:
            raise Damaged(f"part {index} is not where it should be")
        leaf, memory = empty(kind, shape, stride, length)
        file.seek(begins)
        filled = 0
        while filled < length:
            count = file.readinto(memory[filled:])  # type: ignore[attr-defined]
            if not count:
                raise Damaged(f"part {index} is cut off")
            filled += count
        if _sum(memory).hex() != checksum:
            raise Damaged(f"the checksum of part {index} is wrong")
        leaves.append(bytes(leaf) if kind == "bytes" else leaf)
        at += length
    if at != contents["ends"]:
        raise Damaged("it is longer than its parts")
    return Found(contents["facts"], contents["tree"], leaves)
