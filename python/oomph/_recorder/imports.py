"""Calls back when the program has imported a framework."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from . import complaint

Callback = Callable[[ModuleType], None]


class _CallbackLoader(Loader):
    """A loader that does what another does, and then calls back."""

    def __init__(self, loader: Loader, callback: Callback) -> None:
        self._loader = loader
        self._callback = callback

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module sees its own loader, as it would without us.
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        try:
            self._callback(module)
        except Exception as error:
            complaint.once(f"cannot record {module.__name__}", error)


class _ImportWatch(MetaPathFinder):
    """Finds no module itself; puts a callback into the loader of those that are waited for."""

    def __init__(self, before: dict[str, Callable[[], None]], after: dict[str, Callback]) -> None:
        self._before = before
        self._after = after

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._after:
            return None
        callback = self._after.pop(fullname)
        prepare = self._before.pop(fullname, None)
        if prepare is not None:
            try:
                prepare()
            except Exception as error:
                complaint.once(f"cannot prepare {fullname}", error)
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: ModuleSpec | None = find(fullname, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _CallbackLoader(spec.loader, callback)
                return spec
        return None


def watch(before: dict[str, Callable[[], None]], after: dict[str, Callback]) -> None:
    """Calls `before[name]()` as the program begins to import `name`, and `after[name](module)` once it is there.

    For a module that is imported already, `after` is called at once.
    """
    waiting: dict[str, Callback] = {}
    for name, callback in after.items():
        module = sys.modules.get(name)
        if module is None:
            waiting[name] = callback
        else:
            callback(module)
    if waiting:
        sys.meta_path.insert(0, _ImportWatch(before, waiting))
