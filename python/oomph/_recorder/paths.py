"""Ways from variables to what they hold."""

from __future__ import annotations

import functools
import gc
import inspect
import itertools
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import CellType, CoroutineType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

from . import alive
from .cells import ipython_shell, name_of

# How far from its variable a tensor may be.
_DEPTH = 14
# Objects between two looks at the clock.
_STRIDE = 512
# References to the copy of a frame's variables: the frame's, the reader's, and the argument of the count itself.
_UNSHARED = 3
# Types whose objects lead to no tensor.
_ATOMS = frozenset(
    {str, bytes, int, float, complex, bool, type(None), type(Ellipsis), ModuleType, FrameType, range, slice}
    | {type(len), type(os.environ)}
)
_LIBRARIES = ("site-packages", "dist-packages", f"{os.sep}lib{os.sep}python")
_CACHE = type(functools.lru_cache(len))
_CONTAINERS = (dict, list, tuple, set, frozenset, deque)
# What stands before the name of a variable that a function has from the one around it.
_CLOSED = ".<closure>."
# An endless iterator, which keeps all that it has passed on.
_CYCLE = itertools.cycle


@dataclass(frozen=True)
class Anchor:
    """What a tensor is listed under: the outermost module, optimizer or container on the way to it, or the tensor."""

    path: str
    # Its class; empty for a plain tensor.
    kind: str = ""
    # What follows the path, such as the function whose variable it is.
    where: str = ""
    gradients: bool = False

    def name(self) -> str:
        """How people reach it."""
        return f"{self.path}{', gradients' if self.gradients else ''}{self.where}"


@dataclass(frozen=True)
class Root:
    """A variable."""

    name: str
    value: Any
    where: str = ""


def _running(own: set[int]) -> list[FrameType]:
    """The frames of all threads, innermost first, without `own`, this one and the one that asks."""
    here: FrameType | None = sys._getframe()
    asks = here.f_back if here is not None else None
    left_out = {*own, id(here), id(asks)}
    found: list[FrameType] = []
    step: FrameType | None = None
    for step in list(sys._current_frames().values()):
        while step is not None:
            if id(step) not in left_out:
                found.append(step)
            step = step.f_back
    # A frame that refers to itself would keep the frames below it, and their tensors, until the collector runs.
    del here, asks, step
    return found


def roots(torch: Any, own: set[int]) -> Iterator[Root]:
    """The variables of the program, in the order in which people would name them: its globals, models first; those of
    running functions; those that exceptions and generators keep. `own`: frames to leave out."""
    shell = ipython_shell()
    names = shell.user_ns if shell is not None else vars(sys.modules["__main__"])
    hidden = shell.user_ns_hidden if shell is not None else {}
    mine = [Root(name, value) for name, value in list(names.items()) if hidden.get(name) is not value]
    order = (torch.nn.Module, torch.Tensor, torch.optim.Optimizer)

    def rank(root: Root) -> int:
        return next((n for n, kind in enumerate(order) if issubclass(type(root.value), kind)), len(order))

    yield from sorted(mine, key=rank)
    for step in _running(own):
        yield from sorted(variables(step, ""), key=rank)
    for thing in alive.instances(BaseException, GeneratorType, CoroutineType):
        if issubclass(type(thing), BaseException):
            trace = thing.__traceback__
            while trace is not None:
                kept = variables(trace.tb_frame, f", kept by a {type(thing).__name__}")
                yield from sorted(kept, key=rank)
                trace = trace.tb_next
        elif type(thing) is GeneratorType and thing.gi_frame is not None and not thing.gi_running:
            yield from variables(thing.gi_frame, ", a generator")
        elif type(thing) is CoroutineType and thing.cr_frame is not None and not thing.cr_running:
            yield from variables(thing.cr_frame, ", a coroutine")


def module_roots() -> Iterator[Root]:
    """The variables of modules, the program's first one left out."""
    for module_name, module in list(sys.modules.items()):
        if type(module) is ModuleType and not module_name.startswith(("oomph", "_oomph", "__main__")):
            for name, value in list(vars(module).items()):
                yield Root(f"{module_name}.{name}", value)


def variables(frame: FrameType, how: str = "") -> list[Root]:
    """The local variables of a function; those of a module are its globals."""
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return []
    code = frame.f_code
    where = f" in {code.co_name}(), {os.path.basename(name_of(code.co_filename))}:{frame.f_lineno}{how}"
    known = frame.f_locals
    found = [Root(name, value, where) for name, value in list(known.items())]
    if sys.version_info < (3, 13):
        # Here it is a copy, which the frame keeps: it would hold what the function later lets go. Others may have it
        # too, by `locals()`; then it stays as it is.
        if sys.getrefcount(known) <= _UNSHARED:
            known.clear()
    return found


class Walk:
    """Follows variables to tensors. No object is entered twice, so each tensor has one way: the first."""

    def __init__(self, torch: Any, until: float) -> None:
        self.cut = False
        self._torch = torch
        self._until = until
        # Kept until the end, so that no other object takes the place of one that was seen.
        self._seen: dict[int, Any] = {}
        self._count = 0
        for module in list(sys.modules.values()):
            self._seen[id(vars(module))] = None
        shell = ipython_shell()
        if shell is not None:
            self._seen[id(shell.user_ns)] = self._seen[id(shell.user_ns_hidden)] = None

    def forget(self) -> None:
        """Lets go of all that was seen."""
        self._seen.clear()

    def follow(self, root: Root, reached: Callable[[Any, Anchor], bool]) -> None:
        """Calls `reached` for each tensor that the variable leads to, until it says that there are no others."""
        waiting: deque[tuple[Any, str, Anchor | None, int]] = deque([(root.value, root.name, None, 0)])
        while waiting:
            thing, path, found, depth = waiting.popleft()
            if type(thing) in _ATOMS or id(thing) in self._seen:
                continue
            self._seen[id(thing)] = thing
            self._count += 1
            if self._count % _STRIDE == 0 and time.monotonic() > self._until:
                self.cut = True
                return
            anchor = found or self._anchor(thing, path, root.where)
            if issubclass(type(thing), self._torch.Tensor):
                own = anchor or Anchor(path, where=root.where)
                if not reached(thing, own):
                    return
                gradient = _gradient(thing)
                if gradient is not None:
                    self._seen[id(gradient)] = gradient
                    if not reached(gradient, replace(own, gradients=True)):
                        return
                if type(thing) in (self._torch.Tensor, self._torch.nn.Parameter):
                    continue
            if depth < _DEPTH:
                is_module = issubclass(type(thing), self._torch.nn.Module)
                for step, child in self._children(thing):
                    if step.startswith(_CLOSED):
                        # A variable of the function around: people know it by its name.
                        waiting.append((child, step.removeprefix(_CLOSED), None, depth + 1))
                        continue
                    # What a module collects beside its parameters has a name of its own.
                    collects = is_module and issubclass(type(child), _CONTAINERS)
                    waiting.append((child, path + step, None if collects else anchor, depth + 1))

    def _anchor(self, thing: Any, path: str, where: str) -> Anchor | None:
        kind = type(thing)
        if path.endswith("_hooks"):
            # A module's list of hooks: what they collect has a name of its own.
            return None
        if issubclass(kind, (*_CONTAINERS, _CACHE, _CYCLE, self._torch.nn.Module, self._torch.optim.Optimizer)):
            return Anchor(path, kind.__name__, where)
        return None

    def _children(self, thing: Any) -> Iterator[tuple[str, Any]]:
        """What an object refers to, each with what is written after the object's name. No code of the program is run."""
        kind = type(thing)
        if issubclass(kind, dict):
            for key, child in list(dict.items(thing)):
                yield (f"[{key!r}]" if type(key) in (str, int) else "[…]"), child
                yield "", key
        elif issubclass(kind, (list, tuple, deque)):
            yield from ((f"[{n}]", child) for n, child in enumerate(list(thing) if kind in _CONTAINERS else _items(thing)))
        elif kind in (set, frozenset):
            yield from (("{…}", child) for child in list(thing))
        elif kind is FunctionType:
            free = zip(thing.__code__.co_freevars, thing.__closure__ or ())
            yield from ((_CLOSED + name, cell) for name, cell in free)
            yield "", thing.__defaults__
            yield "", thing.__kwdefaults__
        elif kind is CellType:
            try:
                yield "", thing.cell_contents
            except ValueError:
                return
        elif kind is MethodType:
            yield ".__self__", thing.__self__
        elif issubclass(kind, type):
            if _is_own(thing):
                yield from ((f".{name}", child) for name, child in list(vars(thing).items()))
            return
        elif kind is _CACHE:
            # What a cache of results holds is its own affair, but the collector sees it.
            yield from ((".<cache>", child) for child in gc.get_referents(thing) if child is not thing.__wrapped__)
        elif kind is functools.partial:
            yield from (("", thing.func), ("", thing.args), ("", thing.keywords))
        elif kind.__module__ in ("builtins", "itertools") and hasattr(kind, "__next__") and kind is not GeneratorType:
            # `zip`, `enumerate`, the iterator of a list: no attribute shows what they hold.
            yield from (("", child) for child in gc.get_referents(thing))
        yield from self._attributes(thing)

    def _attributes(self, thing: Any) -> Iterator[tuple[str, Any]]:
        try:
            own = object.__getattribute__(thing, "__dict__")
        except AttributeError:
            own = {}
        if type(own) is dict:
            is_module = issubclass(type(thing), self._torch.nn.Module)
            for name, child in list(own.items()):
                if is_module and name in ("_parameters", "_buffers", "_modules") and type(child) is dict:
                    yield from ((f".{inner}", part) for inner, part in list(child.items()))
                else:
                    yield f".{name}", child
        for kind in type(thing).__mro__[:-1]:
            slots = kind.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                try:
                    yield f".{name}", object.__getattribute__(thing, name)
                except AttributeError:
                    continue


def _is_own(kind: type) -> bool:
    """Whether a class is the program's own, not a library's."""
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None) or ""
    return kind.__module__ == "__main__" or bool(file) and not any(part in file for part in _LIBRARIES)


def _items(thing: Any) -> list[Any]:
    """The items of a subclass of list, tuple or deque, by the base class's own iterator."""
    base = next(kind for kind in (list, tuple, deque) if isinstance(thing, kind))
    return list(base.__iter__(thing))


def _gradient(tensor: Any) -> Any:
    try:
        return tensor.grad if tensor.is_leaf and tensor.requires_grad else None
    except Exception:
        return None
