"""Which module of a model asked for memory: what each is called, and when it was at work."""

from __future__ import annotations

import functools
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

# Turns that are kept: some hundred forward passes of a large model.
KEPT = 200_000
# Modules that are told apart; what is beyond counts for the module around it.
MOST = 4_000


class Modules:
    """Follows the calls of modules, until the program compiles one: what follows it would be compiled with it."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._names: list[str] = []
        self._kinds: list[str] = []
        self._turns: deque[tuple[int, int | None]] = deque(maxlen=KEPT)
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        # Of each thread: blocks that are computed again run on autograd's.
        self._working = threading.local()
        self.end: Callable[[], None] = lambda: None

    def at_torch(self, torch: Any) -> None:
        """Follows from here on until `end` is called. Not by PyTorch's hooks: with them a call takes another way through
        PyTorch, which shows in tracebacks."""
        kind = torch.nn.Module
        original = kind.__call__

        @functools.wraps(original)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            self._enter(module)
            try:
                return original(module, *args, **kwargs)
            finally:
                self._leave()

        def end() -> None:
            kind.__call__ = original

        kind.__call__ = call
        self.end = end

    def owners(self) -> dict[int, int]:
        """The number of the module that has a parameter or a buffer, by the tensor's `id`."""
        found: dict[int, int] = {}
        for module, number in list(self._numbers.items()):
            for kind in ("_parameters", "_buffers"):
                for tensor in list(module.__dict__.get(kind, {}).values()):
                    found.setdefault(id(tensor), number)
        return found

    def notes(self) -> dict[str, Any] | None:
        """Names by number, and which module was innermost from when on; `None` where no module was seen."""
        if not self._names:
            return None
        return {"names": self._names, "kinds": self._kinds, "turns": [list(turn) for turn in self._turns]}

    def _stack(self) -> list[int | None]:
        stack: list[int | None] | None = getattr(self._working, "stack", None)
        if stack is None:
            stack = self._working.stack = []
        return stack

    def _enter(self, module: Any) -> None:
        stack = self._stack()
        number = self._numbers.get(module)
        if number is None:
            number = self._name(module, stack[-1] if stack else None)
        stack.append(number)
        self._turns.append((self._now(), number))

    def _leave(self) -> None:
        stack = self._stack()
        stack.pop()
        self._turns.append((self._now(), stack[-1] if stack else None))

    def _name(self, module: Any, around: int | None) -> int | None:
        """Names a module and all that are in it. One that no attribute of the module around it leads to has the name of
        its class there."""
        kind = type(module).__name__
        base = kind if around is None else f"{self._names[around]}.{kind}"
        alike = sum(1 for name in self._names if name == base or name.startswith(f"{base} "))
        base = f"{base} {alike + 1}" if alike else base
        for path, inner in module.named_modules():
            if inner not in self._numbers and len(self._names) < MOST:
                self._numbers[inner] = len(self._names)
                self._names.append(f"{base}.{path}" if path else base)
                self._kinds.append(type(inner).__name__)
        return self._numbers.get(module, around)
