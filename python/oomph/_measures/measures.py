"""The measures of one process: what was asked for, what the program has that they could change, what was not done."""

from __future__ import annotations

from typing import Any

from .models import Models
from .timing import Timing

# The two names of Lightning.
LIGHTNING = ("lightning.pytorch", "pytorch_lightning")


class Measures:
    """Takes the measures that run.json names as soon as the program has what they change. What cannot be done is a
    remark that begins with "not changed"."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self._asked = asked
        self.remarks: list[str] = []
        # What there is to change: how many blocks a model repeats, the batch of a Trainer.
        self.found: dict[str, Any] = {}
        self._checkpointed = 0
        self._losses: Any = None
        self._states: Any = None
        self._activations: Any = None
        self._sharding: Any = None
        self._adapters: Any = None
        self._torch: Any = None
        # Whether what is computed is real: not so on a phantom GPU.
        self.is_real = True
        timed = asked.get("timed")
        self._timing = Timing(*timed) if timed else None

    def watched(self) -> dict[str, Any]:
        """Modules whose import has to be waited for, beside PyTorch's."""
        from . import trainer
        from .accelerate import Accelerate
        from .lightning import Lightning

        count, first = int(self._asked.get("micro_batches") or 1), self._asked.get("proof")
        lightning = Lightning(count, first, self.found, self.remarks)
        accelerate = Accelerate(count, self._asked.get("loader"), first, self.found, self.remarks)
        return {
            "transformers.modeling_utils": self._at_transformers_models,
            "transformers.training_args": self._at_training_args,
            "transformers.trainer": trainer.note_loss(self.found, count),
            **{f"{name}.trainer.trainer": lightning.at_trainer for name in LIGHTNING},
            **{f"{name}.loops.fit_loop": lightning.at_loop for name in LIGHTNING},
            "accelerate.accelerator": accelerate.at_accelerator,
        }

    def _at_training_args(self, module: Any) -> None:
        from . import trainer

        trainer.split_batches(module.TrainingArguments, int(self._asked.get("micro_batches") or 1), self.found, self.remarks)

    def _at_transformers_models(self, module: Any) -> None:
        if self._adapters is not None:
            self._adapters.at_models(module)

    def at_torch(self, torch: Any) -> None:
        """PyTorch has been imported."""
        self._torch = torch
        from . import autocast, checkpointing, host_activations, host_state, loss, optimizers

        self._losses = loss.Losses(torch, self.found, chunks=self._asked.get("loss") == "chunks")
        precision = self._asked.get("autocast")
        if precision:
            autocast.around_models(torch, precision, self.remarks)
        form = self._asked.get("optimizer")
        if form:
            optimizers.take_form(torch, form, self.remarks)
        if self._asked.get("eight_bit"):
            from .eight_bit import keep_state_in_8_bits

            keep_state_in_8_bits(torch, self.remarks)
        rank = self._asked.get("adapters")
        if rank:
            from .adapters import Adapters

            self._adapters = Adapters(torch, rank, self.remarks)
        has_state = bool(self._asked.get("host_state"))
        self._states = host_state.States(torch, self.found, self.remarks, on_host=has_state)
        # Sees what the program says, before another form is taken.
        optimizers.note(torch, self.found)
        on_host = self._asked.get("host_activations")
        if on_host:
            self._activations = host_activations.Activations(torch, tuple(on_host))
        if self._asked.get("sharded"):
            from .sharding import Sharding

            self._sharding = Sharding(torch, self.remarks)
        if self._asked.get("proof"):
            from . import proof

            proof.prepare(torch, self._note_gradients)
        # Trainer counts labels itself.
        if self._asked.get("equal_labels") and self.is_real:
            from . import labels

            labels.insist_on_equal(torch)
        share = self._asked.get("checkpointing")
        models = Models(torch)
        models.at_first_call(lambda model: self.found.update(trains=True))
        models.at_first_call(lambda model: checkpointing.note(torch, model, self.found))
        if share:
            models.at_first_call(lambda model: self._checkpoint(torch, model, share[0] / share[1]))

    def at_step(self, step: int) -> bool:
        """The optimizer has made its `step`-th step; whether the process has shown what it was started for."""
        if self._asked.get("proof"):
            return True
        return self._timing is not None and self._timing.at_step(self._torch, step)

    def _note_gradients(self, numbers: list[str]) -> None:
        self.found.setdefault("gradients", numbers)

    def _checkpoint(self, torch: Any, model: Any, share: float) -> None:
        from . import checkpointing

        self._checkpointed += checkpointing.checkpoint(torch, model, share)

    def notes(self) -> dict[str, Any]:
        """What a plan has to know."""
        remarks = list(dict.fromkeys(self.remarks))
        if self._asked.get("checkpointing") and not self._checkpointed:
            remarks.append("not changed: no model repeats blocks that are not checkpointed yet")
        if self._asked.get("loss") and self._losses is not None and not self._losses.chunked:
            remarks.append("not changed: no plain loss on large logits was computed")
        if self._asked.get("host_state") and self._states is not None and not self._states.moved:
            remarks.append("not changed: no optimizer has state that can be on the host")
        if self._activations is not None and not self._activations.moved:
            remarks.append("not changed: no model saves activations that can be on the host")
        if self._sharding is not None and not self._sharding.divided:
            remarks.append("not changed: no model was given to DDP")
        if self._adapters is not None and not self._adapters.trained:
            remarks.append("not changed: no model of transformers was given to an optimizer")
        timed = {"step_us": self._timing.step_us} if self._timing is not None else {}
        return {"remarks": remarks, **self.found, **timed}
