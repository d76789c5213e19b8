"""Several processes that train one model together: what they agree on."""

from __future__ import annotations

import os
import sys
from typing import Any

from oomph._oomph import OomphError


class Ranks:
    """This process among those of its job. Alone it agrees with itself, and nothing is sent."""

    def __init__(self) -> None:
        self.rank, self.world = 0, 1
        self._group: Any = None
        self._under_way: tuple[Any, Any] | None = None
        torch: Any = sys.modules.get("torch")
        distributed: Any = getattr(torch, "distributed", None)
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            self.rank, self.world = distributed.get_rank(), distributed.get_world_size()
        elif os.environ.get("WORLD_SIZE", "1") not in ("", "0", "1"):
            raise OomphError(
                f"this is one of {os.environ['WORLD_SIZE']} ranks, and they do not know each other yet: call "
                "torch.distributed.init_process_group() before oomph.checkpoint()"
            )
        if self.world > 1:
            # For values in host memory, whatever the job's own group is for.
            self._group = distributed.new_group(backend="gloo")

    def gather(self, value: Any) -> list[Any]:
        """What every rank says, in their order. All must call it."""
        if self.world == 1:
            return [value]
        found: list[Any] = [None] * self.world
        sys.modules["torch"].distributed.all_gather_object(found, value, group=self._group)
        return found

    def first_says(self, yes: bool) -> bool:
        """What rank 0 said when this was last called; alone, what is said now. All ranks call it at every step: they do
        not wait for each other, and they save at the same step although their clocks differ."""
        if self.world == 1:
            return yes
        torch: Any = sys.modules["torch"]
        said = False
        if self._under_way is not None:
            work, answer = self._under_way
            work.wait()
            said = bool(answer.item())
        answer = torch.tensor([yes and not said], dtype=torch.uint8)
        self._under_way = torch.distributed.broadcast(answer, 0, group=self._group, async_op=True), answer
        return said
