"""DDP's buckets.

After the first backward pass DDP knows the order of the gradients, and makes its buckets anew. NCCL keeps the first ones until
a thread of its own, which looks every tenth of a second, has seen that they were reduced. On a card it depends on that thread
whether both are held for some steps. Here the thread is always waited for, and what it may hold longer is noted.
"""

from __future__ import annotations

import functools
import time
from typing import Any

# A few times as long as the thread sleeps.
_PATIENCE_S = 0.3


class Buckets:
    """How much of the first buckets may be held beside the second ones."""

    def __init__(self) -> None:
        self.late = 0
        self._sizes: dict[int, int] = {}

    def watch(self, torch: Any) -> None:
        parallel, reducer = torch.nn.parallel.DistributedDataParallel, torch._C._distributed_c10d.Reducer
        helper, rebuild = parallel._ddp_init_helper, reducer._rebuild_buckets

        @functools.wraps(helper)
        def init(model: Any, parameters: Any, *args: Any, **kwargs: Any) -> Any:
            made = helper(model, parameters, *args, **kwargs)
            if not model.find_unused_parameters or model.static_graph:
                self._sizes[id(model.reducer)] = sum(each.numel() * each.element_size() for each in parameters)
            return made

        @functools.wraps(rebuild)
        def rebuild_buckets(self_: Any) -> bool:
            size = self._sizes.get(id(self_))
            if size is None:
                return bool(rebuild(self_))
            if torch.cuda.is_initialized():
                time.sleep(_PATIENCE_S)
            is_rebuilt = bool(rebuild(self_))
            if is_rebuilt:
                self.late += size
                del self._sizes[id(self_)]
            return is_rebuilt

        parallel._ddp_init_helper = init
        reducer._rebuild_buckets = rebuild_buckets
