"""In a process that `oomph run --resume` has started again: Hugging Face's and Lightning's trainers are given the newest of
their own checkpoints that is whole. A trainer that is called a second time for the same folder is not."""

from __future__ import annotations

import functools
import glob
import os
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from . import complaint, imports, whole
from .progress import Progress

# A checkpoint that may be whole: its folder or file, its time, and its step; 0 where that is not known.
Candidate = tuple[str, float, int]


def watch(progress: Progress) -> None:
    """Waits for the frameworks."""
    resumed: set[str] = set()
    hugging_face = functools.partial(_hook_hugging_face, progress, resumed)
    lightning = functools.partial(_hook_lightning, progress, resumed)
    after: dict[str, imports.Callback] = {
        "transformers.trainer": hugging_face,
        "lightning.pytorch.trainer.trainer": lightning,
        "pytorch_lightning.trainer.trainer": lightning,
    }
    imports.watch({}, after)


def _hook_hugging_face(progress: Progress, resumed: set[str], module: ModuleType) -> None:
    trainer: Any = getattr(module, "Trainer")
    original = trainer.train

    @functools.wraps(original)
    def train(self: Any, resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        folder = str(self.args.output_dir)
        progress.counted = lambda: int(self.state.global_step)
        found = _newest(progress, resumed, folder, lambda: _of_hugging_face(folder), whole.hugging_face)
        return original(self, resume_from_checkpoint if found is None else found, *args, **kwargs)

    trainer.train = train


def _of_hugging_face(folder: str) -> Iterable[Candidate]:
    for path in glob.glob(os.path.join(glob.escape(folder), "checkpoint-*")):
        step = path.rpartition("-")[2]
        if step.isdigit() and os.path.isdir(path):
            state = os.path.join(path, whole.STATE)
            yield path, os.stat(state if os.path.exists(state) else path).st_mtime, int(step)


def _hook_lightning(progress: Progress, resumed: set[str], module: ModuleType) -> None:
    import inspect

    trainer: Any = getattr(module, "Trainer")
    original = trainer.fit
    signature = inspect.signature(original)

    @functools.wraps(original)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        progress.counted = lambda: int(self.global_step)
        folder = str(self.default_root_dir)
        found = _newest(progress, resumed, folder, lambda: _of_lightning(_lightning_folders(self)), whole.archive)
        if found is None:
            return original(self, *args, **kwargs)
        bound = signature.bind(self, *args, **kwargs)
        bound.arguments["ckpt_path"] = found
        return original(*bound.args, **bound.kwargs)

    trainer.fit = fit


def _lightning_folders(trainer: Any) -> list[str]:
    """Patterns of where a trainer keeps checkpoints: each of its runs has a folder of its own."""
    root = glob.escape(str(trainer.default_root_dir))
    found = [root, os.path.join(root, "checkpoints"), os.path.join(root, "lightning_logs", "*", "checkpoints")]
    for callback in getattr(trainer, "checkpoint_callbacks", []):
        if getattr(callback, "dirpath", None):
            found.append(glob.escape(str(callback.dirpath)))
    for logger in getattr(trainer, "loggers", []):
        if getattr(logger, "root_dir", None):
            found.append(os.path.join(glob.escape(str(logger.root_dir)), "*", "checkpoints"))
    return found


def _of_lightning(folders: list[str]) -> Iterable[Candidate]:
    for path in {path for folder in folders for path in glob.glob(os.path.join(folder, "*.ckpt"))}:
        yield path, os.stat(path).st_mtime, 0


def _newest(
    progress: Progress,
    resumed: set[str],
    folder: str,
    candidates: Callable[[], Iterable[Candidate]],
    damage: Callable[[str], str | None],
) -> str | None:
    """The newest whole one that this job made, by step and then by time. Never raises."""
    if folder in resumed:
        return None
    resumed.add(folder)
    try:
        since = (progress.since or 0) / 1e6
        # File systems may keep whole seconds.
        made = [one for one in candidates() if one[1] >= int(since)]
        for path, _, step in sorted(made, key=lambda one: (one[2], one[1]), reverse=True):
            why = damage(path)
            if why is None:
                _say(f"going on from {path}")
                return path
            _say(f"{path} is passed over: {why}")
        _say(f"no checkpoint of this job is in {folder}: it begins anew")
    except Exception as error:
        complaint.once("checkpoints are not looked for", error)
    return None


def _say(text: str) -> None:
    if sys.stderr is not None and os.environ.get("RANK", "0") == "0":
        try:
            print(f"oomph: {text}", file=sys.stderr, flush=True)
        except Exception:
            pass
