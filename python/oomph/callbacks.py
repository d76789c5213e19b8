"""Callbacks that log GPU memory with a training's other figures.

    trainer = transformers.Trainer(..., callbacks=[oomph.callbacks.HuggingFaceCallback()])
    trainer = lightning.Trainer(..., callbacks=[oomph.callbacks.LightningCallback()])
    model.fit(..., callbacks=[oomph.callbacks.KerasCallback()])

Each logs `oomph/peak_allocated_gib`, `oomph/peak_reserved_gib` and `oomph/retries` of this process's device: since the last
log, the last step or the last epoch. Peaks begin anew with each, except under `oomph run`, which tells the peak of the
whole run; there they are the peaks so far. Without a GPU nothing is logged.

A class is made when it is first asked for, so that no framework is imported for nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from oomph._frameworks import framework

_GIB = 1 << 30


class Figures:
    """The figures since they were last asked for."""

    def __init__(self) -> None:
        self._retries = 0
        self.start()

    def start(self) -> None:
        """Forgets what was before."""
        self.take()

    def take(self) -> dict[str, float]:
        """The figures since the last call; empty where no framework uses a GPU."""
        found = _torch() or _tensorflow() or _jax()
        retries = found.pop("retries", None)
        figures = {f"oomph/{name}_gib": round(size / _GIB, 4) for name, size in found.items()}
        if retries is not None:
            figures["oomph/retries"] = retries - self._retries
            self._retries = retries
        return figures


def _torch() -> dict[str, int]:
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return {}
    stats = torch.cuda.memory_stats()
    if "OOMPH_RUN" not in os.environ:
        torch.cuda.reset_peak_memory_stats()
    return {
        "peak_allocated": stats.get("allocated_bytes.all.peak", 0),
        "peak_reserved": stats.get("reserved_bytes.all.peak", 0),
        "retries": stats.get("num_alloc_retries", 0),
    }


def _tensorflow() -> dict[str, int]:
    tensorflow: Any = sys.modules.get("tensorflow")
    if tensorflow is None or not tensorflow.config.list_logical_devices("GPU"):
        return {}
    peak = tensorflow.config.experimental.get_memory_info("GPU:0")["peak"]
    if "OOMPH_RUN" not in os.environ:
        tensorflow.config.experimental.reset_memory_stats("GPU:0")
    return {"peak_allocated": peak}


def _jax() -> dict[str, int]:
    jax: Any = sys.modules.get("jax")
    # Its peaks cannot begin anew; on the CPU it has none.
    stats = jax.local_devices()[0].memory_stats() if jax is not None else None
    return {"peak_allocated": stats["peak_bytes_in_use"]} if stats and "peak_bytes_in_use" in stats else {}


def _hugging_face() -> type:
    base: Any = _framework("HuggingFaceCallback", ("transformers",)).TrainerCallback

    class HuggingFaceCallback(base):  # type: ignore[misc]
        """Adds the figures to every log of a `transformers.Trainer`.

        They are in `trainer.state.log_history`, and in what the progress bar and the callbacks behind this one get. What
        reports to other programs (TensorBoard, Weights & Biases) stands in front of it: `attach` goes before that.
        """

        def __init__(self) -> None:
            self._figures = Figures()

        def attach(self, trainer: Any) -> Any:
            """Makes this the first of a trainer's callbacks, and gives the trainer."""
            trainer.callback_handler.callbacks.insert(0, self)
            return trainer

        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self._figures.start()

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            figures = self._figures.take()
            if logs is not None:
                logs.update(figures)
            # The trainer has written its history before it asks.
            if state.log_history:
                state.log_history[-1].update(figures)

    return HuggingFaceCallback


def _lightning() -> type:
    base: Any = _framework("LightningCallback", ("lightning.pytorch", "pytorch_lightning")).Callback

    class LightningCallback(base):  # type: ignore[misc]
        """Logs the figures of every training step of a Lightning `Trainer`."""

        def __init__(self) -> None:
            super().__init__()
            self._figures = Figures()

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            self._figures.start()

        def on_train_batch_end(self, trainer: Any, pl_module: Any, *args: Any, **kwargs: Any) -> None:
            figures = self._figures.take()
            if figures:
                pl_module.log_dict(figures, on_step=True, on_epoch=False)

    return LightningCallback


def _keras() -> type:
    base: Any = _framework("KerasCallback", ("keras",)).callbacks.Callback

    class KerasCallback(base):  # type: ignore[misc]
        """Adds the figures to the logs of every epoch of `model.fit`, and so to its history."""

        def __init__(self) -> None:
            super().__init__()
            self._figures = Figures()

        def on_train_begin(self, logs: Any = None) -> None:
            self._figures.start()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            if logs is not None:
                logs.update(self._figures.take())

    return KerasCallback


_CLASSES: dict[str, Callable[[], type]] = {
    "HuggingFaceCallback": _hugging_face,
    "LightningCallback": _lightning,
    "KerasCallback": _keras,
}


def _framework(wanted: str, names: tuple[str, ...]) -> Any:
    return framework(f"oomph.callbacks.{wanted}", names)


def __getattr__(name: str) -> Any:
    if name not in _CLASSES:
        raise AttributeError(f"module 'oomph.callbacks' has no attribute {name!r}")
    made = _CLASSES[name]()
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted([*_CLASSES, "Figures"])
