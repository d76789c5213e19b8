"""The modules that a step uses, and what of them stands in the way."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from .failures import Refusal

BATCH_STATISTICS = "batch statistics"


class Modules:
    """All modules of a step: those that are named, or those that its first call uses."""

    def __init__(self, named: Iterable[Any]) -> None:
        self.all: list[Any] = []
        # While all is quiet: which modules are silenced, and those that were.
        self._hush: Callable[[Any], bool] | None = None
        self._silenced: list[Any] = []
        self._known: set[int] = set()
        self.roots: list[Any] = []
        for module in named:
            self._add(module)
        self.named = bool(self.roots)

    def _add(self, root: Any) -> list[Any]:
        new = [module for module in root.modules() if id(module) not in self._known]
        self._known.update(map(id, new))
        self.all += new
        self.roots.append(root)
        self._silence(new)
        return new

    @contextlib.contextmanager
    def found(self, tell: Callable[[list[Any]], None]) -> Iterator[None]:
        """Inside the block, whatever module is called for the first time is known and told, before it runs."""

        def look(module: Any, inputs: Any) -> None:
            if id(module) not in self._known:
                tell(self._add(module))

        hook = torch.nn.modules.module.register_module_forward_pre_hook(look)
        try:
            yield
        finally:
            hook.remove()

    def check(self, accepted: Iterable[str]) -> None:
        """Refuses what would give another result in parts."""
        for module in self.all:
            if any(getattr(each, "_post_accumulate_grad_hooks", None) for each in module.parameters(recurse=False)):
                raise Refusal("a hook runs after each gradient is accumulated, and would run for every part: remove it")
        if BATCH_STATISTICS in accepted:
            return
        for module in self.all:
            if uses_batch_statistics(module):
                kind = type(module).__name__
                raise Refusal(
                    f"{kind} takes statistics of the batch, which parts change: "
                    f'oomph.fit(accept="{BATCH_STATISTICS}") allows it, .eval() of the module avoids it'
                )

    @contextlib.contextmanager
    def quiet(self, only_dropout: bool) -> Iterator[None]:
        """Inside the block nothing of the modules is random: all are in evaluation mode, or only the dropout layers."""
        self._hush = lambda module: not only_dropout or isinstance(module, torch.nn.modules.dropout._DropoutNd)
        try:
            self._silence(self.all)
            yield
        finally:
            for module in self._silenced:
                module.training = True
            self._silenced = []
            self._hush = None

    def _silence(self, modules: list[Any]) -> None:
        for module in modules:
            if self._hush is not None and module.training and self._hush(module):
                module.training = False
                self._silenced.append(module)


def uses_batch_statistics(module: Any) -> bool:
    """A BatchNorm that mixes the samples of a batch now."""
    if not isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
        return False
    return bool(module.training or module.running_mean is None)
