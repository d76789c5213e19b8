"""The buffers of modules: running means, counters, caches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from .failures import steadily

# A module's own dictionary of buffers, and a name in it.
_Slot = tuple[dict[str, Any], str]


class Buffers:
    """Copies of the buffers that steps change.

    Before its first step a buffer is copied. From then on it is copied if a step has changed it, so a step that changes none
    costs no copies. Whether one has is seen by its value after the first step, and by the version that PyTorch counts
    after every step. PyTorch's norms change theirs without counting: they are copied whenever they are in training mode.
    Modules that `passed_over` names are left alone.
    """

    def __init__(self, passed_over: Callable[[Any], bool]) -> None:
        self._passed_over = passed_over
        self._modules: list[Any] = []
        # What each buffer was when a step began: the tensor itself, its version, and a copy where there is one.
        self._noted: list[tuple[_Slot, Any, int, Any]] = []
        self._changing: set[tuple[int, str]] = set()
        self._settled: set[tuple[int, str]] = set()
        self._is_inside = False
        self.surprise: str | None = None

    def add(self, modules: Iterable[Any]) -> None:
        """Buffers of more modules; inside a step as they are now. Each module once."""
        new = [module for module in modules if module._buffers]
        self._modules += new
        if self._is_inside:
            self._note(new)

    def begin(self) -> None:
        """A step begins."""
        self._is_inside = True
        self._noted = []
        self._note(self._modules)

    def end(self) -> None:
        """The step is over: which buffers it changed is known for the next one."""
        for (home, name), before, version, copy in self._noted:
            # Comparing waits for the GPU: once is enough.
            copy = None if (id(home), name) in self._settled else copy
            self._settled.add((id(home), name))
            if home.get(name) is not before or _version(before) != version or _differs(before, copy):
                self._changing.add((id(home), name))
        self._noted = []
        self._is_inside = False

    def restore(self) -> bool:
        """Everything as it was when the step began. False where a buffer changed of which there is no copy: `surprise` is
        its name then."""
        for (home, name), before, version, copy in self._noted:
            if copy is None and _version(before) != version:
                self.surprise = name
                return False
            home[name] = before
            if copy is not None:
                _write(before, copy)
        # Writing has counted versions up.
        self._noted = [(slot, before, _version(before), copy) for slot, before, _, copy in self._noted]
        return True

    def _note(self, modules: list[Any]) -> None:
        for module in modules:
            if self._passed_over(module):
                continue
            home = module._buffers
            for name, before in home.items():
                if before is None:
                    continue
                key = (id(home), name)
                copied = key not in self._settled or key in self._changing or _is_norm_in_training(module)
                self._noted.append(((home, name), before, _version(before), _copy(before) if copied else None))


def _copy(tensor: Any) -> Any:
    return steadily(lambda: tensor.detach().clone())


def _write(tensor: Any, copy: Any) -> None:
    with torch.no_grad():
        steadily(lambda: tensor.copy_(copy))


def _differs(tensor: Any, copy: Any) -> bool:
    return copy is not None and not steadily(lambda: torch.equal(tensor, copy))


def _is_norm_in_training(module: Any) -> bool:
    return isinstance(module, torch.nn.modules.batchnorm._NormBase) and bool(module.training)


def _version(tensor: Any) -> int:
    # A tensor made in inference mode counts no versions, and only changes in that mode.
    return -1 if tensor.is_inference() else int(tensor._version)
