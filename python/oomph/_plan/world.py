"""A world of ranks in which only this one is there.

NCCL is the phantom's: its collectives are over at once, whoever takes part. What is left are the meetings: ranks find each
other through a store, and tell each other what to connect to. Here the store answers for all of them.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .buckets import Buckets
from .collectives import Collectives
from .gathered import Gathered
from .messages import Messages
from .objects import Objects
from .shadows import Shadows

# The keys under which NCCL's name for a world is stored: a count, or the two ranks of a channel.
_NAME_OF_A_WORLD = re.compile(r"(^|/)\d+(:\d+)?$")
_LENGTH_OF_A_NAME = 128


def variables(rank: int, per_node: int, nodes: int) -> dict[str, str]:
    """What torchrun tells a process about its place in the world."""
    size, node = per_node * nodes, rank // per_node
    numbers = {
        "RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank % per_node, "LOCAL_WORLD_SIZE": per_node,
        "GROUP_RANK": node, "GROUP_WORLD_SIZE": nodes, "ROLE_RANK": rank, "ROLE_WORLD_SIZE": size,
        "MASTER_PORT": 29500, "TORCHELASTIC_RESTART_COUNT": 0, "TORCHELASTIC_MAX_RESTARTS": 0,
    }  # fmt: skip
    words = {"MASTER_ADDR": "127.0.0.1", "ROLE_NAME": "default", "TORCHELASTIC_RUN_ID": "none", "OMP_NUM_THREADS": "1"}
    return words | {name: str(number) for name, number in numbers.items()}


def backend_of(wanted: Any) -> str:
    """The backends of a group: NCCL for the card, and for the host one that answers by itself."""
    word = str(wanted or "undefined").lower()
    if word in ("undefined", "none"):
        return "cpu:fake,cuda:nccl"
    return re.sub(r"\b(gloo|mpi|ucc)\b", "fake", word)


def _store_class(dist: Any, rank_of: Callable[[], int | None]) -> Any:
    class Store(dist.Store):  # type: ignore[misc]
        """Holds what this rank sets. What others would have set is not waited for."""

        def __init__(self) -> None:
            super().__init__()
            self._values: dict[str, bytes] = {}

        def set(self, key: str, value: Any) -> None:
            self._values[key] = value if isinstance(value, bytes) else str(value).encode()

        def get(self, key: str) -> bytes:
            value = self._values.get(key)
            if value is not None:
                return value
            if _NAME_OF_A_WORLD.search(key):
                return bytes(_LENGTH_OF_A_NAME)
            raise dist.DistStoreError(
                f"oomph plan runs rank {rank_of()} alone: nobody sets the key {key!r} that it waits for in the store"
            )

        def multi_get(self, keys: list[str]) -> list[bytes]:
            return [self.get(key) for key in keys]

        def add(self, key: str, number: int) -> int:
            total = int(self._values.get(key, b"0")) + number
            self._values[key] = str(total).encode()
            return total

        def compare_set(self, key: str, expected: Any, wanted: Any) -> bytes:
            had = self._values.get(key)
            if had is None or had == (expected if isinstance(expected, bytes) else str(expected).encode()):
                self.set(key, wanted)
            return self._values[key]

        def check(self, keys: list[str]) -> bool:
            return all(key in self._values for key in keys)

        def wait(self, *_: Any) -> None:
            return None

        def delete_key(self, key: str) -> bool:
            return self._values.pop(key, None) is not None

        def num_keys(self) -> int:
            return len(self._values)

        def clone(self) -> Any:
            # There is no connection that another thread would need for itself.
            return self

    return Store


class World:
    """This process's place among the ranks, and what was seen of the others."""

    def __init__(self, config: dict[str, Any] | None, remarks: list[str]) -> None:
        # Without a config the other ranks are there, and find each other as they do without oomph.
        self._is_alone = config is not None
        config = config or {}
        self.rank = int(config.get("rank") or 0)
        self.per_node: int | None = config.get("per_node")
        messages = os.path.join(os.environ.get("OOMPH_RUN", ""), config.get("messages") or "messages")
        self._messages = Messages(messages, lambda: self._place[0] if self._place else self.rank)
        self._remarks = remarks
        # The rank and the size of the world that the program joined.
        self._place: tuple[int, int] | None = None
        # The ranks that have the stages of this rank's pipeline.
        self._stages: list[int] = []
        self._store: Any = None
        self._buckets = Buckets()
        self._gathered = Gathered()
        if self.per_node is not None and "TORCHELASTIC_RUN_ID" not in os.environ:
            os.environ.update(variables(self.rank, self.per_node, int(config.get("nodes") or 1)))

    def at_torch(self, torch: Any, shadows: Shadows) -> None:
        if not self._is_alone or not torch.distributed.is_available():
            return
        from . import launchers

        if self.per_node is None:
            launchers.prepare(sys.argv)
        # A thread of NCCL's would ask the store for news of other ranks, and outlive the interpreter.
        os.environ.setdefault("TORCH_NCCL_ENABLE_MONITORING", "0")
        from torch.distributed import distributed_c10d as c10d

        dist = torch.distributed
        make_store = _store_class(dist, lambda: self._place[0] if self._place else None)

        def store() -> Any:
            # PyTorch keeps only the part of it that is C++, and asks the Python part.
            self._store = self._store or make_store()
            return self._store

        original = c10d.rendezvous

        @functools.wraps(original)
        def rendezvous(url: str, rank: int = -1, world_size: int = -1, **_: Any) -> Iterator[tuple[Any, int, int]]:
            def number(given: int, name: str) -> int:
                if given >= 0:
                    return given
                if name not in os.environ:
                    raise ValueError(f"{name} is not set: plan this script with --nproc, or as torchrun starts it")
                return int(os.environ[name])

            yield store(), number(rank, "RANK"), number(world_size, "WORLD_SIZE")

        helper = c10d._new_process_group_helper

        @functools.wraps(helper)
        def new_process_group(size: int, rank: int, members: list[int], backend: Any, given: Any, *args: Any, **kwargs: Any) -> Any:
            import torch.testing._internal.distributed.fake_pg  # noqa: F401

            if not members:
                self._place = (rank, size)
            # A program may bring a store of its own, which waits for others.
            own = dist.PrefixStore("", store()) if not members else given
            return helper(size, rank, members, backend_of(backend), own, *args, **kwargs)

        c10d.rendezvous = rendezvous
        c10d._new_process_group_helper = new_process_group
        Objects(self._messages, self._remarks).watch(dist, c10d)
        self._buckets.watch(torch)
        Collectives(shadows, self._messages).watch(torch)

    def watched(self) -> dict[str, Callable[[Any], None]]:
        """What is done when the program has imported these modules."""
        from . import launchers

        if not self._is_alone:
            return {}
        return {
            "torch.distributed.launcher.api": lambda module: launchers.watch(module, self.rank),
            "torch.distributed.pipelining.stage": self._watch_stages,
            "torch.distributed.fsdp._flat_param": self._gathered.watch,
        }

    def _watch_stages(self, module: Any) -> None:
        base = module._PipelineStageBase
        original = base.__init__

        @functools.wraps(original)
        def init(stage: Any, *args: Any, **kwargs: Any) -> None:
            original(stage, *args, **kwargs)
            import torch.distributed as dist

            self._stages = dist.get_process_group_ranks(stage.group or dist.group.WORLD)

        base.__init__ = init

    def notes(self) -> dict[str, Any] | None:
        """What the answer has to know of the world; None where the program joined none."""
        if self._place is None:
            return None
        rank, size = self._place
        seen = {"stages": self._stages, "communicators": _communicators(), "late": self._buckets.late, "gathered": self._gathered.most}
        return {"rank": rank, "size": size, "missing": sorted(self._messages.missing), **seen}


def _communicators() -> int:
    """How many the phantom has made for this process."""
    import ctypes

    try:
        return int(ctypes.CDLL(None).oomph_phantom_communicators())
    except (AttributeError, OSError):
        return 0
