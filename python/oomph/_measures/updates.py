"""The moment before an optimizer's update, when its gradients are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def before_each(call: Callable[[Any], None]) -> None:
    """Calls `call` with the optimizer before each of its updates. Lightning computes the gradients inside `step`, in a
    closure: then it is called after that."""
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    def before(optimizer: Any, args: Any, kwargs: Any) -> Any:
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        if closure is None:
            call(optimizer)
            return None

        def called() -> Any:
            loss = closure()
            call(optimizer)
            return loss

        return args[:1], {**kwargs, "closure": called}

    register_optimizer_step_pre_hook(before)
