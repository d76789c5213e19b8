"""Changes to a program that are tried on the phantom: each is what a user would do in a line or two."""

from __future__ import annotations

from typing import Any


def apply(torch: Any, changes: dict[str, Any], remarks: list[str]) -> None:
    """Makes the changes that were asked for. One that finds nothing to change says so."""
    if changes.get("autocast"):
        _OutermostCalls(torch, remarks).autocast()
    if changes.get("checkpointing"):
        _OutermostCalls(torch, remarks).checkpointing()
    for name, value in (("fused", True), ("foreach", False)):
        if changes.get(name):
            _optimizers(torch, name, value, remarks)


class _OutermostCalls:
    """Calls of modules that are not inside those of others: the model, as the program calls it."""

    def __init__(self, torch: Any, remarks: list[str]) -> None:
        self._torch = torch
        self._remarks = remarks
        self._depth = 0
        self._contexts: list[Any] = []
        self._is_done = False

    def autocast(self) -> None:
        """Around each such call, as if the program had written it there; what it autocasts itself stays as it is."""
        torch = self._torch

        def before(module: Any, args: Any) -> None:
            if self._depth == 0:
                if torch.is_autocast_enabled("cuda"):
                    self._remarks.append("not changed: the program uses autocast already")
                context = torch.autocast("cuda", torch.bfloat16)
                context.__enter__()
                self._contexts.append(context)
            self._depth += 1

        def after(module: Any, args: Any, output: Any) -> None:
            self._depth -= 1
            if self._depth == 0:
                self._contexts.pop().__exit__(None, None, None)

        hooks = torch.nn.modules.module
        hooks.register_module_forward_pre_hook(before)
        hooks.register_module_forward_hook(after, always_call=True)

    def checkpointing(self) -> None:
        """Switched on before the first call of a model in training, by the model's own function for it."""

        def before(module: Any, args: Any) -> None:
            if self._is_done or not module.training:
                return
            self._is_done = True
            able = [part for part in module.modules() if hasattr(part, "gradient_checkpointing_enable")]
            if not able:
                self._remarks.append("not changed: the model has no gradient_checkpointing_enable()")
            elif getattr(able[0], "is_gradient_checkpointing", False):
                self._remarks.append("not changed: gradient checkpointing is on already")
            else:
                able[0].gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})

        self._torch.nn.modules.module.register_module_forward_pre_hook(before)


def _optimizers(torch: Any, name: str, value: bool, remarks: list[str]) -> None:
    """As if the program had passed `name=value` to its optimizers."""
    import functools

    original = torch.optim.Optimizer.__init__

    @functools.wraps(original)
    def init(optimizer: Any, params: Any, defaults: Any) -> None:
        if name not in defaults:
            remarks.append(f"not changed: the optimizer has no {name}")
        elif defaults[name] is not None:
            remarks.append(f"not changed: the program sets {name} itself")
        else:
            defaults[name] = value
        original(optimizer, params, defaults)

    torch.optim.Optimizer.__init__ = init
