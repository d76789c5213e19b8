"""Python objects between ranks.

Ranks run the same program, so what all of them tell each other is taken to be what this one tells. What one rank sends to
another, or to all, is a message.
"""

from __future__ import annotations

import pickle
from typing import Any

from .messages import Messages, source_of, to_all_of


class Objects:
    """PyTorch's functions that carry objects, for a rank that is alone."""

    def __init__(self, messages: Messages, remarks: list[str]) -> None:
        self._messages = messages
        self._remarks = remarks

    def watch(self, dist: Any, c10d: Any) -> None:
        messages = self._messages

        def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
            object_list[:] = [_copy(obj) for _ in object_list]

        def gather_object(obj: Any, object_gather_list: list[Any] | None = None, *_: Any, **__: Any) -> None:
            if object_gather_list is not None:
                object_gather_list[:] = [_copy(obj) for _ in object_gather_list]

        def broadcast_object_list(
            object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
        ) -> None:
            source = source_of(dist, src, group, group_src)
            path = messages.path(source, to_all_of(dist, group))
            if source == messages.rank:
                messages.write(path, object_list)
                return
            sent = messages.read(path, source)
            if sent is None:
                self._remarks.append(f"what rank {source} broadcasts is not known: this rank's own objects were taken")
            else:
                object_list[:] = sent

        def scatter_object_list(
            output: list[Any], given: list[Any] | None = None, src: int | None = None, group: Any = None, group_src: int | None = None
        ) -> None:
            source = source_of(dist, src, group, group_src)
            path = messages.path(source, to_all_of(dist, group))
            if source == messages.rank:
                messages.write(path, given or [])
            sent = messages.read(path, source)
            if sent is None:
                raise RuntimeError(self._nobody(source))
            output[0] = sent[dist.get_rank(group)]

        def send_object_list(
            object_list: list[Any], dst: int | None = None, group: Any = None, device: Any = None, group_dst: int | None = None, **_: Any
        ) -> None:
            messages.write(messages.path(messages.rank, source_of(dist, dst, group, group_dst)), object_list)

        def recv_object_list(
            object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None, **_: Any
        ) -> int:
            source = source_of(dist, src, group, group_src)
            sent = messages.read(messages.path(source, messages.rank), source)
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

    def _nobody(self, source: int) -> str:
        return f"rank {self._messages.rank} waits for an object of rank {source}, which is not there: oomph plan runs one rank at a time"


def _copy(value: Any) -> Any:
    """The value as another rank's would arrive."""
    return pickle.loads(pickle.dumps(value))
