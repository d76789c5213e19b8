"""Files of weights that are opened, moved and removed by the program itself: those that a plan did not write."""

from __future__ import annotations

import builtins
import functools
import io
import os
import pathlib
import shutil
import time
import weakref
from collections.abc import Callable
from typing import Any

from .kept_back import KeptBack

# What files of weights are called.
WEIGHTS = (".pt", ".pth", ".ckpt", ".safetensors", ".distcp", ".pth.tar", ".pt.tar")
# Entries of a folder that are looked at before it counts as one of weights.
MOST_ENTRIES = 10_000


def absolute(path: Any) -> str | None:
    """The path of a file; None where it is none: a number, or bytes."""
    try:
        name = os.fspath(path)
    except TypeError:
        return None
    return os.path.abspath(name) if isinstance(name, str) else None


class _Open:
    """`open`, as an object: functions that stand in a class would become methods."""

    def __init__(self, original: Callable[..., Any], calls: FileCalls) -> None:
        self._original = original
        self._calls = calls
        functools.update_wrapper(self, original)

    def __call__(self, file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        path = absolute(file) if isinstance(mode, str) and set(mode) & set("wxa+") else None
        if path is None or not self._calls.is_kept(path):
            return self._original(file, mode, *args, **kwargs)
        return self._calls.sink(path, self._original(os.devnull, mode.replace("x", "w"), *args, **kwargs))


class FileCalls:
    """Nothing happens to a file of weights that was there before, and none comes into being once the card is in use.
    What the program calls its own of that is noted instead."""

    def __init__(self, kept: KeptBack, is_in_use: Callable[[], bool], note: Callable[[], None]) -> None:
        self._kept = kept
        self._is_in_use = is_in_use
        self._note = note
        self._began = time.time()
        self._sinks: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()

    def begin(self) -> None:
        builtins.open = _Open(builtins.open, self)
        io.open = _Open(io.open, self)
        for name in ("rename", "replace"):
            setattr(os, name, self._moving(getattr(os, name), is_copy=False))
        for name in ("link", "symlink"):
            setattr(os, name, self._moving(getattr(os, name), is_copy=True))
        for name in ("copyfile", "copy", "copy2"):
            setattr(shutil, name, self._moving(getattr(shutil, name), is_copy=True))
        setattr(shutil, "move", self._moving(shutil.move, is_copy=False))
        for name in ("remove", "unlink"):
            setattr(os, name, self._removing(getattr(os, name), self._is_there))
        setattr(shutil, "rmtree", self._removing(shutil.rmtree, self._has_weights))
        for owner, names in (os.path, ("exists", "isfile")), (pathlib.Path, ("exists", "is_file")):
            for name in names:
                setattr(owner, name, self._seeing(getattr(owner, name), lambda _: True))
        setattr(os.path, "getsize", self._seeing(os.path.getsize, self._kept.size))

    def path_of(self, file: Any) -> str | None:
        """The path of a file that a function is given, by name or open; None where it lies in memory."""
        path = absolute(file)
        if path is not None:
            return path
        try:
            if file in self._sinks:
                return self._sinks[file]
        except TypeError:
            return None
        name = getattr(file, "name", None)
        return os.path.abspath(name) if isinstance(name, str) and hasattr(file, "fileno") else None

    def is_kept(self, path: str) -> bool:
        """Whether nothing is to be written here."""
        if self._kept.holds(path):
            return True
        return path.endswith(WEIGHTS) and (self._is_in_use() or self._is_there(path))

    def sink(self, path: str, file: Any) -> Any:
        """An open file that stands for one that is not written."""
        self._note()
        self._kept.put(path)
        self._sinks[file] = path
        return file

    def _is_there(self, path: str) -> bool:
        """Whether a file of weights is older than this process."""
        try:
            return path.endswith(WEIGHTS) and os.lstat(path).st_ctime < self._began
        except OSError:
            return False

    def _has_weights(self, folder: str) -> bool:
        seen = 0
        for above, _, names in os.walk(folder):
            for name in names:
                seen += 1
                if seen > MOST_ENTRIES or self._is_there(os.path.join(above, name)):
                    return True
        return False

    def _moving(self, original: Callable[..., Any], is_copy: bool) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(src: Any, dst: Any, *args: Any, **kwargs: Any) -> Any:
            source, target = absolute(src), absolute(dst)
            if source is None or target is None:
                return original(src, dst, *args, **kwargs)
            if os.path.isdir(target) and not os.path.isdir(source):
                target = os.path.join(target, os.path.basename(source))
            # What a link leads to is named from where it lies.
            beside = os.path.normpath(os.path.join(os.path.dirname(target), os.fspath(src)))
            source = beside if self._kept.holds(beside) else source
            if not self._kept.holds(source) and not self._is_there(target) and (is_copy or not self._is_there(source)):
                return original(src, dst, *args, **kwargs)
            self._note()
            self._kept.move(source, target, is_copy)
            return dst

        return call

    def _seeing(self, original: Callable[..., Any], answer: Callable[[str], Any]) -> Callable[..., Any]:
        """What the program has saved is there for it, as far as it could be loaded."""

        @functools.wraps(original)
        def call(path: Any, *args: Any, **kwargs: Any) -> Any:
            found = absolute(path)
            if found is not None and self._kept.has_contents(found):
                return answer(found)
            return original(path, *args, **kwargs)

        return call

    def _removing(self, original: Callable[..., Any], is_there: Callable[[str], bool]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(path: Any, *args: Any, **kwargs: Any) -> Any:
            found = absolute(path)
            if found is None or kwargs.get("dir_fd") is not None:
                return original(path, *args, **kwargs)
            if not self._kept.holds(found) and not is_there(found):
                return original(path, *args, **kwargs)
            self._note()
            self._kept.forget(found)
            return None

        return call
