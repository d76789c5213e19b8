"""What collectives leave in small tensors whose contents are known. Ranks run the same program: each of the others is taken
to have what this one has, but for what one of them sends to all."""

from __future__ import annotations

import functools
from typing import Any

from .messages import Messages, source_of, to_all_of
from .shadows import Shadows

# Elements of the longest tensor that is followed from rank to rank.
MOST_SENT = 4096


class Collectives:
    """PyTorch's collectives, with the shadows of what they write."""

    def __init__(self, shadows: Shadows, messages: Messages) -> None:
        self._shadows = shadows
        self._messages = messages

    def watch(self, torch: Any) -> None:
        from torch.distributed import distributed_c10d as c10d

        dist = torch.distributed
        for name in ("all_reduce", "all_gather", "all_gather_into_tensor", "all_to_all_single", "broadcast"):
            original = getattr(c10d, name)
            wrapped = self._followed(torch, dist, original, getattr(self, f"_{name}"))
            for module in (dist, c10d):
                setattr(module, name, wrapped)

    def _followed(self, torch: Any, dist: Any, original: Any, follow: Any) -> Any:
        @functools.wraps(original)
        def collective(*args: Any, **kwargs: Any) -> Any:
            done = original(*args, **kwargs)
            try:
                follow(torch, dist, *args, **kwargs)
            except Exception:
                # An unusual call, which PyTorch understood.
                pass
            return done

        return collective

    def _write(self, target: Any, contents: Any) -> None:
        """What a tensor holds from here on; nobody knows it where `contents` is None."""
        if not target.is_cuda:
            return
        if contents is None:
            self._shadows._doubt([target])
        elif contents.numel() == target.numel():
            self._shadows.attach(target, contents.reshape(target.shape).to(target.dtype))

    def _all_reduce(self, torch: Any, dist: Any, tensor: Any, op: Any = None, group: Any = None, async_op: bool = False) -> None:
        own = self._shadows.of(tensor)
        if own is not None and op in (None, dist.ReduceOp.SUM):
            own.mul_(dist.get_world_size(group))

    def _all_gather(self, torch: Any, dist: Any, tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False) -> None:
        own = self._shadows.of(tensor)
        for target in tensor_list:
            self._write(target, None if own is None else own.clone())

    def _all_gather_into_tensor(
        self, torch: Any, dist: Any, output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
    ) -> None:
        own = self._shadows.of(input_tensor)
        self._write(output_tensor, None if own is None else torch.cat([own.flatten()] * dist.get_world_size(group)))

    def _all_to_all_single(
        self, torch: Any, dist: Any, output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None,
        group: Any = None, async_op: bool = False,
    ) -> None:  # fmt: skip
        own, size = self._shadows.of(input), dist.get_world_size(group)
        if own is None or output_split_sizes or input_split_sizes:
            self._write(output, None)
        else:
            # Every rank sends this one what this one sends to itself.
            self._write(output, torch.cat([own.chunk(size)[dist.get_rank(group)].flatten()] * size))

    def _broadcast(
        self, torch: Any, dist: Any, tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False,
        group_src: int | None = None,
    ) -> None:  # fmt: skip
        if not tensor.is_cuda or tensor.numel() > MOST_SENT:
            return
        messages = self._messages
        source = source_of(dist, src, group, group_src)
        path = messages.path(source, f"tensor-{to_all_of(dist, group)}")
        own = self._shadows.of(tensor)
        if source == messages.rank:
            messages.write(path, [None if own is None else own.flatten().tolist()])
            return
        sent = messages.read(path, source)
        # A rank that was not run has sent nothing: it is taken to have what this one has.
        if sent is not None:
            self._write(tensor, None if sent[0] is None else torch.tensor(sent[0], dtype=tensor.dtype))
