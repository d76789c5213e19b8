"""Writing so that whoever reads sees a whole file: the one before or the one after, never a part."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from typing import IO, Any

# The functions themselves: a program may replace those of the modules, and would notice that somebody calls them.
from io import open as open_file
from json import dumps, loads
from os import fsync, getpid, open as open_number, replace, unlink
from pickle import dump


# Half of a character: how Python keeps a byte of a name that is not UTF-8. JSON cannot hold it.
_LONE = re.compile(r"\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}")


def _replace(path: str, write: Callable[[IO[bytes]], object]) -> None:
    beside = f"{path}.{getpid()}.part"
    try:
        with open_file(_made(beside), "wb") as file:
            write(file)
            file.flush()
            fsync(file.fileno())
        replace(beside, path)
    except BaseException:
        try:
            unlink(beside)
        except OSError:
            pass
        raise


def _made(path: str) -> int:
    """A file of this user's alone, opened for writing. Nothing that lies in the way is followed or written into."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return open_number(path, flags, 0o600)
    except FileExistsError:
        # Of a process that was killed, or put there.
        unlink(path)
        return open_number(path, flags, 0o600)


def read_json(path: str, longest: int) -> Any:
    """What a file says. Nothing is waited for: a pipe in its place is an error, as is a link or a file that is too long."""
    with open_file(open_number(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > longest:
            raise ValueError(f"{path} is not a file of oomph's")
        return loads(file.read(longest))


def is_ours(folder: str) -> bool:
    """Whether a folder is this user's, and nobody else may write into it."""
    found = os.lstat(folder)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


def write_pickle(path: str, value: Any) -> None:
    """Protocol 4: the newest that PyTorch's viewer reads."""
    _replace(path, lambda file: dump(value, file, protocol=4))


def write_json(path: str, value: Any) -> None:
    text = dumps(value, separators=(",", ":"), default=str)
    _replace(path, lambda file: file.write(_LONE.sub(lambda _: r"\ufffd", text).encode()))


def claim(folder: str, name: str) -> bool:
    """Takes a name in a folder for this process; false where another has it."""
    try:
        descriptor = open_number(os.path.join(folder, f".{name}.claim"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return False
    with open_file(descriptor, "w") as file:
        file.write(str(getpid()))
    return True
