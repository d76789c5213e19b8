"""What one rank sends to another, or to all. It lies in a folder: ranks are run one after the other, and each finds there what
those before it had to say."""

from __future__ import annotations

import os
import pickle
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any


class Messages:
    """Messages between ranks, in the order in which each way is used."""

    def __init__(self, folder: str, rank: Callable[[], int]) -> None:
        self._folder = folder
        self._rank = rank
        self._sent: Counter[str] = Counter()
        # The ranks that were heard in vain.
        self.missing: set[int] = set()

    @property
    def rank(self) -> int:
        """This process's."""
        return self._rank()

    def path(self, source: int, target: int | str) -> str:
        """Where the next message on this way lies."""
        way = f"{source}-{target}"
        self._sent[way] += 1
        return os.path.join(self._folder, f"{way}-{self._sent[way]}")

    def write(self, path: str, what: list[Any]) -> None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        with open(path, "wb") as file:
            pickle.dump(list(what), file)

    def read(self, path: str, source: int) -> list[Any] | None:
        """None where its source has not sent it, which is noted."""
        try:
            with open(path, "rb") as file:
                found: list[Any] = pickle.load(file)
                return found
        except OSError:
            self.missing.add(source)
            return None


def source_of(dist: Any, rank: int | None, group: Any, group_rank: int | None) -> int:
    """The rank in the world that one of PyTorch's calls names, one way or the other."""
    if rank is None and group_rank is not None:
        return int(dist.get_global_rank(group or dist.group.WORLD, group_rank))
    return int(rank or 0)


def to_all_of(dist: Any, group: Any) -> str:
    """A name of a group that all its members have for it."""
    ranks = dist.get_process_group_ranks(group or dist.group.WORLD)
    return f"all{zlib.crc32(repr(ranks).encode()):08x}"
