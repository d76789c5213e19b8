"""Micro-batches through the arguments of Lightning's Trainer: the DataLoader gives batches in parts, and
`accumulate_grad_batches` counts them. Lightning's steps, schedules and logs count updates, which stay as many; what counts
batches is multiplied. Lightning takes the mean of the parts' losses, which is the batch's where these are equal and the
loss is a mean over samples: `proof` and `labels` see to that."""

from __future__ import annotations

import dis
import functools
import os
from collections.abc import Callable
from typing import Any

from . import parts

# What a program may do for each batch that would then be done for each part.
_HOOKS = ("on_train_batch_start", "on_train_batch_end", "on_before_backward", "on_after_backward", "optimizer_step")
# Arguments that count batches, with the value under which they count none.
_COUNTS = {"limit_train_batches": (None, 1.0), "val_check_interval": (None, 1.0), "overfit_batches": (0, 0.0)}


class Lightning:
    """What is done to Lightning's Trainer. `first`: only so many samples of the first batch, on the CPU."""

    def __init__(self, count: int, first: int | None, found: dict[str, Any], remarks: list[str]) -> None:
        self._parts = count
        self._first = first
        self._found = found
        self._remarks = remarks

    def at_trainer(self, module: Any) -> None:
        """Lightning's trainer.py was imported."""
        original = module.Trainer.__init__

        @functools.wraps(original)
        def init(trainer: Any, *args: Any, **kwargs: Any) -> None:
            trainer._oomph_why_whole = self._changed(kwargs)
            original(trainer, *args, **kwargs)

        module.Trainer.__init__ = init

    def at_loop(self, module: Any) -> None:
        """Lightning's fit_loop.py was imported: what it asks for its training data is answered with parts."""
        original = module._request_dataloader
        setup = module._FitLoop.setup_data

        @functools.wraps(setup)
        def setup_data(loop: Any) -> None:
            def request(source: Any) -> Any:
                return self._cut(loop.trainer, original(source))

            module._request_dataloader = request
            try:
                setup(loop)
            finally:
                module._request_dataloader = original

        module._FitLoop.setup_data = setup_data

    def _changed(self, kwargs: dict[str, Any]) -> str | None:
        """Why the Trainer's arguments are left alone; else they are changed."""
        if any(name.startswith("PL_TRAINER_") for name in os.environ):
            return "variables (PL_TRAINER_...) are arguments of the Trainer"
        if kwargs.get("fast_dev_run"):
            return "fast_dev_run counts batches"
        for name, plain in _COUNTS.items():
            value = kwargs.get(name, plain[0])
            counts_batches = isinstance(value, int) and not isinstance(value, bool) and name != "overfit_batches"
            if value not in plain and not counts_batches and not isinstance(value, str):
                return f"{name}={value} is a share of the batches"
        if self._first is not None:
            kwargs.update(accelerator="cpu", devices=1, strategy="auto", precision="32-true", num_sanity_val_steps=0)
            kwargs.pop("plugins", None)
        if self._parts > 1:
            kwargs["accumulate_grad_batches"] = (kwargs.get("accumulate_grad_batches") or 1) * self._parts
            for name in ("limit_train_batches", "val_check_interval"):
                value = kwargs.get(name)
                if isinstance(value, int) and not isinstance(value, bool):
                    kwargs[name] = value * self._parts
        return None

    def _cut(self, trainer: Any, loader: Any) -> Any:
        if self._parts > 1 or self._first is not None:
            return self._taken(trainer, loader)
        try:
            return self._taken(trainer, loader)
        except Exception as error:
            # A program that is left as it is does not end for what is not understood of it.
            self._found.update(loop="lightning", why_whole=f"its loop is not understood ({type(error).__name__})")
            return loader

    def _taken(self, trainer: Any, loader: Any) -> Any:
        import torch

        # One batch is all that is tried out on the CPU.
        count = self._parts if self._first is None else 1
        why = getattr(trainer, "_oomph_why_whole", None) or _why_whole(trainer) or parts.why_whole(torch, loader, count)
        if why is None:
            self._found.update(trainer_batch=loader.batch_size, equal_parts=parts.equal_parts(loader), loop="lightning")
            is_cut = self._parts > 1 or self._first is not None
            return parts.cut(loader, self._parts, first=self._first) if is_cut else loader
        self._found.update(loop="lightning", why_whole=why)
        if self._parts > 1:
            parts.refuse(why, self._remarks)
        return loader


def _why_whole(trainer: Any) -> str | None:
    """What of a Trainer and its module counts batches or mixes them."""
    module = trainer.lightning_module
    if not module.automatic_optimization:
        return "the optimization is manual"
    if trainer.world_size != 1:
        return "there are several processes"
    for owner in (module, *trainer.callbacks):
        for hook in _HOOKS:
            method = getattr(type(owner), hook, None)
            if method is not None and not _is_lightnings(method):
                return f"{type(owner).__name__}.{hook} runs for every batch"
    kinds = {type(callback).__name__ for callback in trainer.callbacks}
    for kind in ("GradientAccumulationScheduler", "StochasticWeightAveraging", "BatchSizeFinder"):
        if kind in kinds:
            return f"{kind} changes how batches are accumulated"
    if _uses(type(module).training_step, "batch_idx"):
        return "training_step uses batch_idx, which counts batches"
    return None


def _is_lightnings(method: Callable[..., Any]) -> bool:
    return str(getattr(method, "__module__", "")).partition(".")[0] in ("lightning", "pytorch_lightning")


def _uses(function: Any, name: str) -> bool:
    """Whether a function reads an argument."""
    code = getattr(function, "__code__", None)
    if code is None:
        return True
    reads = [each.argval for each in dis.get_instructions(code) if each.opname.startswith("LOAD_")]
    flat = [name for each in reads for name in (each if isinstance(each, tuple) else (each,))]
    return name in flat
