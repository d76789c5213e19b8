"""The models of a program: the modules that it calls itself, each when it is first called in training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Models:
    """Finds models by their first call. Looking ends with the first step of an optimizer: by then all were called, and
    later calls cost nothing more."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._calls: list[Callable[[Any], None]] = []
        self._seen: set[int] = set()
        self._depth = 0
        hooks = torch.nn.modules.module
        self._handles = [
            hooks.register_module_forward_pre_hook(self._before),
            hooks.register_module_forward_hook(self._after, always_call=True),
        ]
        from torch.optim import optimizer

        self._handles.append(optimizer.register_optimizer_step_post_hook(self._end))

    def at_first_call(self, call: Callable[[Any], None]) -> None:
        """`call` is given each model before its first call in training, in the order asked for."""
        self._calls.append(call)

    def _before(self, module: Any, args: Any) -> None:
        # What a backward pass computes again is not a call of the program's.
        is_own = self._depth == 0 and self._torch._C._current_graph_task_id() == -1
        if is_own and module.training and id(module) not in self._seen:
            self._seen.add(id(module))
            if any(parameter.requires_grad for parameter in module.parameters()):
                for call in self._calls:
                    call(module)
        self._depth += 1

    def _after(self, module: Any, args: Any, output: Any) -> None:
        self._depth -= 1

    def _end(self, *_: Any) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
