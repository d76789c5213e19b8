"""bf16 autocast around the model's forward pass. It changes the result, so it is only planned with."""

from __future__ import annotations

from typing import Any


def around_models(torch: Any, remarks: list[str]) -> None:
    """Around each call of a module that is not inside another's: the model, as the program calls it. What the program
    autocasts itself stays as it is."""
    contexts: list[Any] = []
    depth = 0

    def before(module: Any, args: Any) -> None:
        nonlocal depth
        if depth == 0:
            if torch.is_autocast_enabled("cuda"):
                remarks.append("not changed: the program uses autocast already")
            context = torch.autocast("cuda", torch.bfloat16)
            context.__enter__()
            contexts.append(context)
        depth += 1

    def after(module: Any, args: Any, output: Any) -> None:
        nonlocal depth
        depth -= 1
        if depth == 0:
            contexts.pop().__exit__(None, None, None)

    hooks = torch.nn.modules.module
    hooks.register_module_forward_pre_hook(before)
    hooks.register_module_forward_hook(after, always_call=True)
