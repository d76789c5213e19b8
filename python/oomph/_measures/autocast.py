"""Autocast around the model's forward pass. It changes the result, so it is only planned with."""

from __future__ import annotations

from typing import Any

# What each precision is called in run.json, and in PyTorch.
DTYPES = {"bf16": "bfloat16", "fp16": "float16"}


def around_models(torch: Any, precision: str, remarks: list[str]) -> None:
    """Around each call of a module that is not inside another's: the model, as the program calls it. What the program
    autocasts itself stays as it is."""
    contexts: list[Any] = []
    dtype = getattr(torch, DTYPES[precision])
    depth = 0

    def before(module: Any, args: Any) -> None:
        nonlocal depth
        if depth == 0:
            # What is computed again in the backward pass is under the autocast that it had the first time: ours.
            if torch.is_autocast_enabled("cuda") and torch._C._current_graph_task_id() == -1:
                remarks.append("not changed: the program uses autocast already")
            context = torch.autocast("cuda", dtype)
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
