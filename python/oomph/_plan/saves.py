"""Nothing is saved where nothing is computed: what the program would write over its checkpoints has no contents. Where it
loads what it has just saved, it finds the same shapes."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from .file_calls import FileCalls
from .hollow_tensors import HollowTensors
from .kept_back import KeptBack
from .questions import Questions, Stack
from .stand_ins import StandIns

# Functions that write weights, by module; where a package has them too, it is the module's parent.
_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "torch.distributed.checkpoint.state_dict_saver": ("save", "save_state_dict", "async_save"),
}
_SHARDED = "torch.distributed.checkpoint.state_dict_loader"
# Methods that write checkpoints, remove older ones, or send them away.
_METHODS: dict[str, dict[str, tuple[str, ...]]] = {
    "transformers.trainer": {
        "Trainer": (
            "_save_checkpoint", "save_model", "save_state", "save_metrics", "create_model_card",
            "init_hf_repo", "push_to_hub", "_push_from_checkpoint",
        )
    },
    "transformers.modeling_utils": {"PreTrainedModel": ("push_to_hub",)},
    "transformers.utils.hub": {"PushToHubMixin": ("push_to_hub",)},
    "accelerate.accelerator": {"Accelerator": ("save_state", "save_model", "save")},
    "oomph.checkpoint": {"Checkpoint": ("save",)},
    "lightning_fabric.fabric": {"Fabric": ("save",)},
    "lightning.fabric.fabric": {"Fabric": ("save",)},
    "pytorch_lightning.strategies.strategy": {"Strategy": ("remove_checkpoint",)},
    "lightning.pytorch.strategies.strategy": {"Strategy": ("remove_checkpoint",)},
}  # fmt: skip
# Methods that write a folder of weights, which is put elsewhere.
_FOLDERS = {"transformers.modeling_utils": "PreTrainedModel", "peft.peft_model": "PeftModel"}
# Classes that load such folders.
_LOADERS: dict[str, tuple[str, ...]] = {
    "transformers.modeling_utils": ("PreTrainedModel",),
    "transformers.configuration_utils": ("PreTrainedConfig", "PretrainedConfig"),
    "transformers.generation.configuration_utils": ("GenerationConfig",),
    "transformers.models.auto.configuration_auto": ("AutoConfig",),
    "transformers.models.auto.auto_factory": ("_BaseAutoModelClass",),
    "peft.peft_model": ("PeftModel",),
    "peft.config": ("PeftConfigMixin",),
    "peft.auto": ("_BaseAutoPeftModel",),
}
_FABRIC = ("lightning_fabric", "lightning.fabric")
_LIGHTNING = ("pytorch_lightning", "lightning.pytorch")


class Saves:
    """Puts functions that do nothing in the place of those that save. Where the program reads back what it saved, it gets
    tensors of the same shapes."""

    def __init__(self, questions: Questions, is_told: bool) -> None:
        self._questions = questions
        # Whether the program's own user is told on standard error.
        self._is_told = is_told
        self._torch: Any = None
        self._kept = KeptBack()
        self._stand_ins = StandIns()
        self._files = FileCalls(self._kept, self._is_in_use, self._note)
        # The stack of the first save.
        self.first: Stack = []

    def at_torch(self, torch: Any, hollow: HollowTensors) -> None:
        self._torch = torch
        self._kept.at_torch(torch, hollow)
        self._stand_ins.at_torch(hollow)
        atexit.register(self.remove)
        self._files.begin()
        self._watch_torch(torch)

    def watched(self) -> dict[str, Callable[[Any], None]]:
        """Modules that are waited for."""
        found: dict[str, Callable[[Any], None]] = {}
        for name in _FUNCTIONS:
            found[name] = functools.partial(self._silence_functions, name)
        for name in {*_METHODS, *_FOLDERS, *_LOADERS}:
            found[name] = functools.partial(self._at_methods, name)
        found["safetensors"] = self._at_safetensors
        found["safetensors.torch"] = self._at_safetensors_of_torch
        found[_SHARDED] = functools.partial(self._leave_sharded, _SHARDED)
        for name in _FABRIC:
            found[f"{name}.utilities.cloud_io"] = self._lead_lightning
        for name in _LIGHTNING:
            found[f"{name}.trainer.trainer"] = self._watch_lightning
            found[f"{name}.trainer.connectors.checkpoint_connector"] = self._watch_lightning_loads
        return found

    def _is_in_use(self) -> bool:
        return self._torch is not None and bool(self._torch.cuda.is_initialized())

    def _note(self) -> None:
        if self.first:
            return
        self.first = self._questions.stack()
        if self._is_told and os.environ.get("RANK", "0") == "0":
            print("oomph: nothing is saved: on a card that is not there nothing is computed", file=sys.stderr, flush=True)

    def _watch_torch(self, torch: Any) -> None:
        save, load = torch.save, torch.load

        @functools.wraps(save)
        def keep(obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
            path = self._files.path_of(f)
            # Before the card is used, files that are new and hold nothing invented (prepared data) are written.
            is_new = path is not None and not self._is_in_use() and not os.path.exists(path)
            if path is None or (is_new and self._kept.is_true(obj)):
                save(obj, f, *args, **kwargs)
                return
            self._note()
            self._kept.put(path, obj)

        read = self._reading(load)
        torch.save, torch.load = keep, read
        torch.serialization.save, torch.serialization.load = keep, read
        self._silence(torch.jit, "save")
        self._silence(torch.jit.RecursiveScriptModule, "save")

    def _reading(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A function that loads a file and is told where tensors go: it finds what was kept back."""

        @functools.wraps(original)
        def read(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
            path = self._files.path_of(f)
            if path is not None and self._kept.has_contents(path):
                return self._kept.contents(path, map_location)
            return original(f, map_location, *args, **kwargs)

        return read

    def _silence(self, owner: Any, name: str, result: Callable[..., Any] = lambda *_, **__: None) -> None:
        original = getattr(owner, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def nothing(*args: Any, **kwargs: Any) -> Any:
            self._note()
            return result(*args, **kwargs)

        setattr(owner, name, nothing)

    def _leave_sharded(self, name: str, module: Any) -> None:
        """A sharded checkpoint is loaded into tensors that are there: they stay as they are."""
        package = sys.modules.get(name.rpartition(".")[0])
        original = module.load

        @functools.wraps(original)
        def load(*args: Any, **kwargs: Any) -> Any:
            path = self._files.path_of(kwargs.get("checkpoint_id"))
            return None if path is not None and self._kept.holds(path) else original(*args, **kwargs)

        module.load = load
        if getattr(package, "load", None) is original:
            setattr(package, "load", load)

    def _silence_functions(self, name: str, module: Any) -> None:
        package = sys.modules.get(name.rpartition(".")[0])
        for function in _FUNCTIONS[name]:
            had = getattr(module, function, None)
            self._silence(module, function, functools.partial(self._keep_sharded, function == "async_save"))
            if had is not None and getattr(package, function, None) is had:
                setattr(package, function, getattr(module, function))

    def _keep_sharded(self, is_later: bool, *_args: Any, checkpoint_id: Any = None, **_words: Any) -> Any:
        path = self._files.path_of(checkpoint_id)
        if path is not None:
            self._kept.put(path)
        return _done() if is_later else None

    def _at_methods(self, name: str, module: Any) -> None:
        for kind, methods in _METHODS.get(name, {}).items():
            owner = getattr(module, kind, None)
            for method in methods if owner is not None else ():
                self._silence(owner, method)
        if name in _FOLDERS:
            self._put_elsewhere(getattr(module, _FOLDERS[name]))
        loaders = [getattr(module, kind, None) for kind in _LOADERS.get(name, ())]
        # Some have two names for one class.
        for owner in dict.fromkeys(loader for loader in loaders if loader is not None):
            self._lead(owner)

    def _put_elsewhere(self, owner: Any) -> None:
        original = owner.save_pretrained

        @functools.wraps(original)
        def save_pretrained(model: Any, save_directory: Any, *args: Any, **kwargs: Any) -> None:
            self._note()
            path = self._files.path_of(save_directory)
            if path is None:
                return
            kwargs.pop("push_to_hub", None)
            # What cannot be saved here may well be saved on a real card, and need not be loaded again.
            with contextlib.suppress(Exception):
                original(model, self._stand_ins.place(path), *args, **kwargs)

        owner.save_pretrained = save_pretrained

    def _lead(self, owner: Any) -> None:
        """What loads from a folder that is elsewhere finds it."""
        original = owner.from_pretrained.__func__

        @functools.wraps(original)
        def from_pretrained(kind: Any, *args: Any, **kwargs: Any) -> Any:
            args = tuple(map(self._stand_ins.find, args))
            for name in ("pretrained_model_name_or_path", "model_id"):
                if name in kwargs:
                    kwargs[name] = self._stand_ins.find(kwargs[name])
            return original(kind, *args, **kwargs)

        owner.from_pretrained = classmethod(from_pretrained)

    def _at_safetensors(self, module: Any) -> None:
        original = module.safe_open

        @functools.wraps(original, updated=())
        def safe_open(filename: Any, *args: Any, **kwargs: Any) -> Any:
            return original(self._stand_ins.find(filename), *args, **kwargs)

        module.safe_open = safe_open

    def _at_safetensors_of_torch(self, module: Any) -> None:
        @functools.wraps(module.save_file)
        def save_file(tensors: Any, filename: Any, metadata: Any = None) -> None:
            self._note()
            path = self._files.path_of(filename)
            if path is not None:
                self._stand_ins.write(tensors, self._stand_ins.place(path), metadata)

        module.save_file = save_file

    def remove(self) -> None:
        """Removes what was put elsewhere."""
        self._stand_ins.remove()

    def _watch_lightning(self, module: Any) -> None:
        original = module.Trainer.save_checkpoint

        @functools.wraps(original)
        def save_checkpoint(trainer: Any, filepath: Any, *args: Any, **kwargs: Any) -> None:
            self._note()
            path = self._files.path_of(filepath)
            if path is not None:
                dumped = None
                with contextlib.suppress(Exception):
                    dumped = trainer._checkpoint_connector.dump_checkpoint(*args)
                self._kept.put(path, dumped)

        module.Trainer.save_checkpoint = save_checkpoint

    def _lead_lightning(self, module: Any) -> None:
        """What `load_from_checkpoint` reads."""
        module._load = self._reading(module._load)

    def _watch_lightning_loads(self, module: Any) -> None:
        """The best checkpoint was not written: the weights stay as they are."""
        original = module._CheckpointConnector.resume_start

        @functools.wraps(original)
        def resume_start(connector: Any, checkpoint_path: Any = None, *args: Any, **kwargs: Any) -> None:
            path = self._files.path_of(checkpoint_path) if checkpoint_path else None
            is_kept = path is not None and self._kept.holds(path)
            return original(connector, None if is_kept else checkpoint_path, *args, **kwargs)  # type: ignore[no-any-return]

        module._CheckpointConnector.resume_start = resume_start


def _done() -> Any:
    """A future that is over."""
    from concurrent.futures import Future

    future: Future[None] = Future()
    future.set_result(None)
    return future
