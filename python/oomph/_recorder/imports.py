"""Calls back when the program has imported a framework."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from . import complaint

Callback = Callable[[ModuleType], None]


class _ImportWatch(MetaPathFinder):
    """Finds no module itself: it lets the loaders of those that are waited for say when they load. A lookup alone
    (`importlib.util.find_spec`, which libraries use to see what is installed) changes nothing."""

    def __init__(self, before: dict[str, Callable[[], None]], after: dict[str, Callback]) -> None:
        self._before = before
        self._after = after
        # What is being looked up: another one of these may wait for the same module, and ask us in turn.
        self._looking: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._after or fullname in self._looking:
            return None
        self._looking.add(fullname)
        try:
            return self._find(fullname, path, target)
        finally:
            self._looking.discard(fullname)

    def _find(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: ModuleSpec | None = find(fullname, path, target)
            if spec is not None:
                try:
                    self._listen(fullname, spec.loader)
                except Exception as error:
                    complaint.once(f"{fullname} is not recorded", error)
                return spec
        return None

    def _listen(self, name: str, loader: Any) -> None:
        """Calls back when this loader loads. The loader stays what it is: programs look at it."""
        load = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            if module.__name__ != name:
                # A loader of several modules, such as one for an archive.
                load(module)
                return
            # Another loader of the same module may have called back by now.
            prepare, callback = self._before.pop(name, None), self._after.get(name)
            if prepare is not None:
                try:
                    prepare()
                except Exception as error:
                    complaint.once(f"cannot prepare {name}", error)
            load(module)
            # Not before: a module that could not be loaded may be tried again.
            # Somebody else who waits for it may have done that.
            vars(loader).pop("exec_module", None)
            if callback is not None and self._after.pop(name, None) is not None:
                try:
                    callback(module)
                except Exception as error:
                    complaint.once(f"cannot record {name}", error)

        loader.exec_module = exec_module


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
