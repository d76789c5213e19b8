"""An optimizer's state in 8 bits, as bitsandbytes keeps it. Users have to install that and to change a line, so it is only
planned with: here stands an optimizer that holds as much, number by number, and computes nothing."""

from __future__ import annotations

import functools
import sys
from typing import Any

# How many moments bitsandbytes keeps for each parameter, by the class of PyTorch's that its own takes the place of.
_MOMENTS = {"Adam": 2, "AdamW": 2, "RMSprop": 1, "Adagrad": 1, "SGD": 1}
# A parameter of fewer numbers than this has its moments in 32 bits.
_SMALLEST = 4096
# So many numbers share a scale of 32 bits.
_BLOCK = 256


def keep_state_in_8_bits(torch: Any, remarks: list[str]) -> None:
    """As if the program had made bitsandbytes' optimizers instead of PyTorch's."""
    original = torch.optim.Optimizer.__init__

    @functools.wraps(original)
    def init(optimizer: Any, params: Any, defaults: Any) -> None:
        moments = _moments(torch, optimizer, defaults)
        if moments is None:
            remarks.append("not changed: bitsandbytes has no such optimizer")
        elif moments == 0:
            remarks.append("not changed: the optimizer keeps nothing for each parameter")
        else:
            # Before the original, which notes the class's own step.
            kind: Any = type(optimizer)
            optimizer.__class__ = _stand_in(torch, kind, moments)
        original(optimizer, params, defaults)
        optimizer.__dict__["_in_32_bits"] = _embeddings_of_trainer(torch)

    torch.optim.Optimizer.__init__ = init


def _moments(torch: Any, optimizer: Any, defaults: dict[str, Any]) -> int | None:
    kind = type(optimizer)
    if getattr(torch.optim, kind.__name__, None) is not kind:
        return None
    if kind.__name__ == "SGD" and not defaults.get("momentum"):
        return 0
    return _MOMENTS.get(kind.__name__)


def _embeddings_of_trainer(torch: Any) -> set[int]:
    """The weights whose moments transformers' Trainer, where it is what makes the optimizer, has in 32 bits."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == "transformers.trainer":
            model = getattr(frame.f_locals.get("self"), "model", None)
            if model is not None:
                parts = model.modules()
                return {id(part.weight) for part in parts if isinstance(part, torch.nn.Embedding)}
        frame = frame.f_back  # type: ignore[assignment]
    return set()


@functools.cache
def _stand_in(torch: Any, kind: Any, moments: int) -> Any:
    def step(self: Any, closure: Any = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self._update(parameter)
        return loss

    def update(self: Any, parameter: Any) -> None:
        if parameter not in self.state:
            self.state[parameter] = self._first_state(parameter)
        # bitsandbytes needs both in one piece, and then works in place.
        parameter.data = parameter.data.contiguous()
        parameter.grad = parameter.grad.contiguous()

    def first_state(self: Any, parameter: Any) -> dict[str, Any]:
        is_small = parameter.numel() < _SMALLEST or id(parameter) in self._in_32_bits
        dtype = torch.float32 if is_small else torch.uint8
        state: dict[str, Any] = {"step": 0}
        tables = None if is_small else self._tables(parameter.device)
        for moment in range(moments):
            state[f"state{moment + 1}"] = torch.zeros_like(parameter, dtype=dtype)
        if tables is not None:
            blocks = -(-parameter.numel() // _BLOCK)
            for moment in range(moments):
                state[f"qmap{moment + 1}"] = tables[moment]
                state[f"absmax{moment + 1}"] = torch.zeros(blocks, dtype=torch.float32, device=parameter.device)
        return state

    def tables(self: Any, device: Any) -> Any:
        """What the 256 values of each moment stand for, once for all parameters."""
        made = self.__dict__.setdefault("_qmaps", {})
        if device not in made:
            made[device] = [torch.zeros(256, device=device) for _ in range(moments)]
        return made[device]

    members = {"step": step, "_update": update, "_first_state": first_state, "_tables": tables}
    return type(kind.__name__, (kind,), {**members, "__module__": kind.__module__, "__qualname__": kind.__qualname__})
