"""Micro-batches through accelerate: the loop that says `with accelerator.accumulate(model):` gets its batches in parts, and
accelerate makes an update after the last of them. Optimizers and schedules that are prepared step with updates. What the
loop does itself for each batch would be done for each part: a loop that counts, clips or steps so is left alone."""

from __future__ import annotations

import functools
import sys
import weakref
from typing import Any

from . import loops, parts


class Accelerate:
    """What is done to accelerate. `loader`: the DataLoader of the loop, by the order in which they were prepared; `first`:
    only so many samples of its first batch, on the CPU."""

    def __init__(
        self, count: int, loader: int | None, first: int | None, found: dict[str, Any], remarks: list[str]
    ) -> None:
        self._parts = count if loader is not None else 1
        self._chosen = loader
        self._first = first
        self._found = found
        self._remarks = remarks
        # The loaders that were prepared, which are the program's to keep, and what was known of each before.
        self._loaders: list[tuple[Any, str | None, dict[str, Any]]] = []
        self._is_looked_at = False

    def at_accelerator(self, module: Any) -> None:
        """accelerate's accelerator.py was imported."""
        kind = module.Accelerator
        for name, make in (
            ("__init__", self._made),
            ("prepare_data_loader", self._prepared),
            ("accumulate", self._accumulated),
            ("clip_grad_norm_", self._clipped),
            ("clip_grad_value_", self._clipped),
        ):
            setattr(kind, name, make(getattr(kind, name)))

    def _made(self, original: Any) -> Any:
        @functools.wraps(original)
        def init(accelerator: Any, *args: Any, **kwargs: Any) -> None:
            if self._first is not None and self._chosen is not None:
                kwargs.update(cpu=True, mixed_precision="no")
            original(accelerator, *args, **kwargs)
            if self._parts > 1:
                if accelerator.gradient_accumulation_steps != 1:
                    parts.refuse("the loop accumulates already", self._remarks)
                # The count of a schedule's calls, which some look at, grows with updates only.
                accelerator.gradient_state.plugin_kwargs.update(num_steps=self._parts, adjust_scheduler=False)

        return init

    def _prepared(self, original: Any) -> Any:
        @functools.wraps(original)
        def prepare(accelerator: Any, data_loader: Any, *args: Any, **kwargs: Any) -> Any:
            import torch

            if getattr(data_loader, "_is_accelerate_prepared", False):
                return original(accelerator, data_loader, *args, **kwargs)
            number, batch = len(self._loaders), getattr(data_loader, "batch_size", None)
            why = parts.why_whole(torch, data_loader, self._parts if self._first is None else 1)
            equal = parts.equal_parts(data_loader) if why is None else None
            if number == self._chosen:
                if why is not None:
                    parts.refuse(why, self._remarks)
                data_loader = parts.cut(data_loader, self._parts, counts=False, first=self._first)
            made = original(accelerator, data_loader, *args, **kwargs)
            if not self._is_looked_at:
                facts = {"trainer_batch": batch, "equal_parts": equal, "loader": number}
                self._loaders.append((weakref.ref(made), why, facts))
            return made

        return prepare

    def _accumulated(self, original: Any) -> Any:
        @functools.wraps(original)
        def accumulate(accelerator: Any, *models: Any) -> Any:
            if not self._is_looked_at:
                self._is_looked_at = True
                self._look_if_it_can(accelerator, sys._getframe(1))
            return original(accelerator, *models)

        return accumulate

    def _look_if_it_can(self, accelerator: Any, frame: Any) -> None:
        """A program that is left as it is does not end for what is not understood of it."""
        try:
            self._look(accelerator, frame)
        except Exception as error:
            if self._parts > 1:
                raise
            self._found.update(loop="accelerate", why_whole=f"its loop is not understood ({type(error).__name__})")

    def _look(self, accelerator: Any, frame: Any) -> None:
        """The first batch of the loop."""
        import torch

        active = accelerator.gradient_state.active_dataloader
        found = [(why, facts) for made, why, facts in self._loaders if active is not None and made() is active]
        why, facts = found[0] if found else ("its data is not prepared by accelerate", {})
        if accelerator.num_processes != 1:
            why = "there are several processes"
        elif self._parts == 1 and accelerator.gradient_accumulation_steps != 1:
            why = "the loop accumulates already"
        why = why or loops.why_counted(frame)
        self._found["loop"] = "accelerate"
        if why is not None:
            self._found["why_whole"] = why
        else:
            self._found.update(facts)
        if self._parts > 1:
            if why is not None or facts["loader"] != self._chosen:
                parts.refuse(why or "the loop takes other data", self._remarks)
            self._watch_steps(torch, accelerator)

    def _watch_steps(self, torch: Any, accelerator: Any) -> None:
        """Optimizers and schedules that accelerate did not prepare step with every part."""

        def between(*_: Any) -> None:
            if not accelerator.gradient_state.sync_gradients:
                parts.refuse("an optimizer steps with every batch, not prepared by accelerate", self._remarks)

        from torch.optim.optimizer import register_optimizer_step_pre_hook

        register_optimizer_step_pre_hook(between)
        for kind in (torch.optim.lr_scheduler.LRScheduler, *torch.optim.lr_scheduler.LRScheduler.__subclasses__()):
            if "step" in vars(kind):
                kind.step = self._stepped(kind.step, accelerator)

    def _stepped(self, original: Any, accelerator: Any) -> Any:
        @functools.wraps(original)
        def step(schedule: Any, *args: Any, **kwargs: Any) -> Any:
            if not accelerator.gradient_state.sync_gradients:
                parts.refuse("a schedule steps with every batch, not prepared by accelerate", self._remarks)
            return original(schedule, *args, **kwargs)

        return step

    def _clipped(self, original: Any) -> Any:
        @functools.wraps(original)
        def clip(accelerator: Any, *args: Any, **kwargs: Any) -> Any:
            if self._parts > 1 and not accelerator.gradient_state.sync_gradients:
                parts.refuse("gradients are clipped for every batch, not only where accelerator.sync_gradients says so", self._remarks)
            return original(accelerator, *args, **kwargs)

        return clip
