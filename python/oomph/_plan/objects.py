"""Python objects between ranks.

Ranks run the same program, so what all of them tell each other is taken to be what this one tells. What one rank sends to
another, or to all, is kept in a folder: ranks are run one after the other, and each finds there what those before it had to
say.
"""

from __future__ import annotations

import os
import pickle
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any


class Objects:
    """PyTorch's functions that carry objects, for a rank that is alone."""

    def __init__(self, folder: str, rank: Callable[[], int], remarks: list[str]) -> None:
        self._folder = folder
        self._rank = rank
        self._remarks = remarks
        self._sent: Counter[str] = Counter()

    def watch(self, dist: Any, c10d: Any) -> None:
        def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
            object_list[:] = [_copy(obj) for _ in object_list]

        def gather_object(obj: Any, object_gather_list: list[Any] | None = None, *_: Any, **__: Any) -> None:
            if object_gather_list is not None:
                object_gather_list[:] = [_copy(obj) for _ in object_gather_list]

        def broadcast_object_list(
            object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
        ) -> None:
            source = self._global(dist, src, group, group_src)
            path = self._path(source, _name(dist, group))
            if source == self._rank():
                self._write(path, object_list)
                return
            sent = self._read(path)
            if sent is None:
                self._remarks.append(f"what rank {source} broadcasts is not known: this rank's own objects were taken")
            else:
                object_list[:] = sent

        def scatter_object_list(
            output: list[Any], given: list[Any] | None = None, src: int | None = None, group: Any = None, group_src: int | None = None
        ) -> None:
            source = self._global(dist, src, group, group_src)
            path = self._path(source, _name(dist, group))
            if source == self._rank():
                self._write(path, given or [])
            sent = self._read(path)
            if sent is None:
                raise RuntimeError(self._nobody(source))
            output[0] = sent[dist.get_rank(group)]

        def send_object_list(
            object_list: list[Any], dst: int | None = None, group: Any = None, device: Any = None, group_dst: int | None = None, **_: Any
        ) -> None:
            self._write(self._path(self._rank(), self._global(dist, dst, group, group_dst)), object_list)

        def recv_object_list(
            object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None, **_: Any
        ) -> int:
            source = self._global(dist, src, group, group_src)
            sent = self._read(self._path(source, self._rank()))
            if sent is None:
                raise RuntimeError(self._nobody(source))
            object_list[:] = sent
            return source

        def monitored_barrier(*_: Any, **__: Any) -> None:
            return None

        for function in (
            all_gather_object, gather_object, broadcast_object_list, scatter_object_list, send_object_list, recv_object_list,
            monitored_barrier,
        ):  # fmt: skip
            for module in (dist, c10d):
                if hasattr(module, function.__name__):
                    setattr(module, function.__name__, function)

    def _global(self, dist: Any, rank: int | None, group: Any, group_rank: int | None) -> int:
        if rank is None and group_rank is not None:
            return int(dist.get_global_rank(group or dist.group.WORLD, group_rank))
        return int(rank or 0)

    def _nobody(self, source: int) -> str:
        return f"rank {self._rank()} waits for an object of rank {source}, which is not there: oomph plan runs one rank at a time"

    def _path(self, source: int, target: int | str) -> str:
        """Where the next message on this way lies."""
        way = f"{source}-{target}"
        self._sent[way] += 1
        return os.path.join(self._folder, f"{way}-{self._sent[way]}")

    def _write(self, path: str, objects: list[Any]) -> None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        with open(path, "wb") as file:
            pickle.dump(list(objects), file)

    def _read(self, path: str) -> list[Any] | None:
        try:
            with open(path, "rb") as file:
                objects: list[Any] = pickle.load(file)
                return objects
        except OSError:
            return None


def _name(dist: Any, group: Any) -> str:
    """A name of a group that all its members have for it."""
    ranks = dist.get_process_group_ranks(group or dist.group.WORLD)
    return f"all{zlib.crc32(repr(ranks).encode()):08x}"


def _copy(value: Any) -> Any:
    """The value as another rank's would arrive."""
    return pickle.loads(pickle.dumps(value))
