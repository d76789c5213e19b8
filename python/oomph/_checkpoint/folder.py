"""The folder of a job's checkpoints: what is in it, who may write to it, and what is removed.

A checkpoint is called `000004-step-120.oomph`: the fourth, after 120 steps. Of a job of several ranks each writes a part of
its own, `000004-step-120.rank1of4.oomph`, and the checkpoint is there when all parts are.
"""

from __future__ import annotations

import fcntl
import os
import re
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field

from oomph._oomph import OomphError

from . import disk, say

_NAME = re.compile(r"(\d{6,18})-step-(\d{1,18})(?:\.rank(\d{1,9})of(\d{1,9}))?\.oomph")
_PART = ".part"


@dataclass
class Saved:
    """One checkpoint, by the names of its files."""

    number: int
    step: int
    world: int
    # The file of each rank.
    names: dict[int, str] = field(default_factory=dict)

    @property
    def missing(self) -> list[int]:
        return [rank for rank in range(self.world) if rank not in self.names]

    @property
    def called(self) -> str:
        return f"{self.number:06d}-step-{self.step}"


def name_of(number: int, step: int, rank: int, world: int) -> str:
    """What a rank's file of a checkpoint is called."""
    part = f".rank{rank}of{world}" if world > 1 else ""
    return f"{number:06d}-step-{step}{part}.oomph"


class Folder:
    """A folder that this process, or this rank, alone writes to."""

    def __init__(self, path: str, rank: int) -> None:
        self.shown = path
        # A program may change its directory later.
        self.path = os.path.abspath(path)
        try:
            os.makedirs(self.path, mode=0o700, exist_ok=True)
        except OSError as error:
            raise OomphError(f"{path} cannot be made ({say.reason(error)}): name another folder=") from None
        self._lock = Lock(self.path, path, rank)

    def close(self) -> None:
        """Another job may have the folder."""
        self._lock.release()

    @property
    def is_open(self) -> bool:
        return self._lock.is_held

    def join(self, name: str) -> str:
        return os.path.join(self.path, name)

    def show(self, name: str) -> str:
        """A file as messages call it."""
        return os.path.join(self.shown, name)

    def list(self) -> list[Saved]:
        """What is there, the newest first, parts missing or not."""
        found: dict[tuple[int, int, int], Saved] = {}
        for name in os.listdir(self.path):
            match = _NAME.fullmatch(name)
            if match is None:
                continue
            number, step = int(match[1]), int(match[2])
            rank, world = (int(match[3]), int(match[4])) if match[3] else (0, 1)
            if rank < world:
                key = number, step, world
                found.setdefault(key, Saved(*key)).names[rank] = name
        return [found[key] for key in sorted(found, reverse=True)]

    def clean(self) -> None:
        """Removes what a process that was killed had half written."""
        for name in os.listdir(self.path):
            if name.startswith(".") and name.endswith(_PART) and _NAME.fullmatch(name[1 : -len(_PART)]):
                self._remove(name)

    def beside(self, name: str) -> str:
        """Where a file is written before it has its name."""
        return self.join(f".{name}{_PART}")

    def prune(self, keep: int, is_ours: Callable[[str], bool]) -> None:
        """Removes this job's checkpoints but for the `keep` newest that have all their parts. What is damaged or another
        job's is not counted and not removed."""
        kept = 0
        removed = False
        for saved in self.list():
            names = list(saved.names.values())
            if kept >= keep and all(is_ours(self.join(name)) for name in names):
                for name in names:
                    self._remove(name)
                removed = True
            elif not saved.missing and all(is_ours(self.join(name)) for name in names):
                kept += 1
        if removed:
            disk.sync_folder(self.path)

    def _remove(self, name: str) -> None:
        try:
            os.unlink(self.join(name))
        except FileNotFoundError:
            # Another rank was first.
            pass
        except OSError as error:
            say.once(f"{self.show(name)} cannot be removed ({say.reason(error)})")


class Lock:
    """Held as long as this process lives and has not released it: the kernel drops it with the process, however that ends.
    A second one for the same folder in this process takes it over from the first."""

    def __init__(self, folder: str, shown: str, rank: int) -> None:
        path = os.path.join(folder, f".lock-rank{rank}" if rank else ".lock")
        earlier = _held.get(path)
        if earlier is not None:
            earlier.release()
        flags = os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._number: int | None = os.open(path, flags, 0o600)
        except OSError as error:
            raise OomphError(f"{shown} cannot be written to ({say.reason(error)}): name another folder=") from None
        try:
            fcntl.flock(self._number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(self._number, 20, 0).decode("ascii", "replace").strip()
            self.release()
            raise OomphError(
                f"{shown} is in use by another job{f' (process {owner})' if owner.isdigit() else ''}: "
                "give each job a folder of its own, folder="
            ) from None
        except OSError as error:
            say.once(f"{shown} cannot be locked ({say.reason(error)}): let no other job use it")
        else:
            os.ftruncate(self._number, 0)
            os.pwrite(self._number, str(os.getpid()).encode(), 0)
        _held[path] = self

    @property
    def is_held(self) -> bool:
        return self._number is not None

    def release(self) -> None:
        number, self._number = self._number, None
        if number is not None:
            os.close(number)


_held: weakref.WeakValueDictionary[str, Lock] = weakref.WeakValueDictionary()


def _release_in_child() -> None:
    # A worker of a data loader may outlive a parent that is killed, and must not keep its lock.
    for lock in list(_held.values()):
        lock.release()


os.register_at_fork(after_in_child=_release_in_child)
