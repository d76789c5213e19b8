"""Forms of PyTorch's optimizers that do the same arithmetic with less memory."""

from __future__ import annotations

import functools
from typing import Any

# What each form is called in run.json, and the argument of an optimizer that asks for it.
FORMS: dict[str, tuple[str, bool]] = {"fused": ("fused", True), "single": ("foreach", False)}


def take_form(torch: Any, form: str, remarks: list[str]) -> None:
    """As if the program had passed the argument to its optimizers."""
    name, value = FORMS[form]
    original = torch.optim.Optimizer.__init__

    @functools.wraps(original)
    def init(optimizer: Any, params: Any, defaults: Any) -> None:
        if name not in defaults:
            remarks.append(f"not changed: the optimizer has no {name}")
        elif defaults[name] is not None or (name == "foreach" and defaults.get("fused")):
            remarks.append(f"not changed: the program sets {name} itself")
        else:
            defaults[name] = value
        original(optimizer, params, defaults)
        if defaults.get(name) is value:
            optimizer.register_load_state_dict_pre_hook(functools.partial(_kept, name, value))
        if form == "fused" and defaults.get("fused"):
            # What an optimizer's own constructor does for its argument.
            optimizer._step_supports_amp_scaling = True

    torch.optim.Optimizer.__init__ = init


def _kept(name: str, value: bool, optimizer: Any, state: dict[str, Any]) -> dict[str, Any]:
    """A checkpoint of the program as it was says nothing of the form, and does not undo it."""
    return {**state, "param_groups": [{**group, name: value} for group in state["param_groups"]]}


def note(torch: Any, found: dict[str, Any]) -> None:
    """Which forms the program's optimizers leave open."""
    original = torch.optim.Optimizer.__init__

    @functools.wraps(original)
    def init(optimizer: Any, params: Any, defaults: Any) -> None:
        open_forms = [
            form
            for form, (name, _) in FORMS.items()
            if name in defaults and defaults[name] is None and not defaults.get("fused")
        ]
        had = found.get("forms")
        found["forms"] = open_forms if had is None else [form for form in had if form in open_forms]
        original(optimizer, params, defaults)

    torch.optim.Optimizer.__init__ = init
