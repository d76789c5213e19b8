"""FSDP instead of DDP: every rank keeps a part of each weight, of its gradient and of its state, instead of a copy of all.
Users have to change their program for it, so it is only planned with."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

from .checkpointing import blocks


def _nobody() -> None:
    return None


class Sharding:
    """Divides the models that a program makes copies of: each of their repeated blocks, and the rest."""

    def __init__(self, torch: Any, remarks: list[str]) -> None:
        self._remarks = remarks
        # Whole weights, which are gone once a model is divided, unless somebody has them.
        self._whole: dict[int, weakref.ref[Any]] = {}
        self.divided = 0
        parallel = torch.nn.parallel
        parallel.DistributedDataParallel = parallel.distributed.DistributedDataParallel = self._stand_in(torch)
        from torch.optim import optimizer

        optimizer.register_optimizer_step_pre_hook(self._check)

    def _divide(self, torch: Any, model: Any) -> None:
        from torch.distributed.fsdp import fully_shard

        self._whole.update((id(parameter), weakref.ref(parameter)) for parameter in model.parameters())
        for block in blocks(torch, model):
            fully_shard(block)
        fully_shard(model)
        self.divided += 1

    def _check(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        parameters = (parameter for group in optimizer.param_groups for parameter in group["params"])
        if any(self._whole.get(id(parameter), _nobody)() is parameter for parameter in parameters):
            self._remarks.append("not changed: the optimizer was made before the model was given to DDP")

    def _stand_in(sharding, torch: Any) -> type:
        class DistributedDataParallel(torch.nn.parallel.DistributedDataParallel):  # type: ignore[misc]
            """Takes the place of PyTorch's class, and does as it does where programs look."""

            def __init__(self, module: Any, *args: Any, **kwargs: Any) -> None:
                torch.nn.Module.__init__(self)
                sharding._divide(torch, module)
                self.module = module

            def forward(self, *args: Any, **kwargs: Any) -> Any:
                return self.module(*args, **kwargs)

            @contextlib.contextmanager
            def no_sync(self) -> Iterator[None]:
                self.module.set_requires_gradient_sync(False)
                try:
                    yield
                finally:
                    self.module.set_requires_gradient_sync(True)

        return DistributedDataParallel
