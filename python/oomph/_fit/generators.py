"""Whether a generator of random numbers has moved, by its memory.

Python and NumPy have no way to ask that: they only give a copy of the whole state, number by number, which takes longer
than all else that is done before a step. Here bytes of the state itself are read. They are compared, never parsed and never
written.

Both generators are Mersenne Twisters: 624 numbers, and a position in them at one end. Every draw moves the position, until
a full turn makes all numbers anew; and another seed gives other numbers. So both ends of the state tell whether it is the
same. That they do is tried out once in a process, on generators of our own; where that fails, or where a program has put
something else in a generator's place, the state is copied every time.
"""

from __future__ import annotations

import ctypes
import functools
import random
import sys
from collections.abc import Callable
from typing import Any

# What every object begins with; no state is in it.
_HEAD = object.__basicsize__
# A twister's numbers and its position, and how much of each end is read: more would not be in the processor's cache.
_TWISTER = 4 * 625
_END = 64


class Generator:
    """A generator of random numbers, and the copy of its state that was made last."""

    def __init__(self, look: Callable[[], Any] | None, copy: Callable[[], Any]) -> None:
        # What changes whenever the state does; None where nothing is known to.
        self._look = look
        self._copy = copy
        self._seen: Any = None
        self._state: Any = None

    def state(self) -> Any:
        """The state now."""
        if self._look is None:
            return self._copy()
        seen = self._look()
        if seen != self._seen:
            self._state = self._copy()
            self._seen = seen
        return self._state


_python: tuple[Any, Generator] | None = None
_numpy: tuple[Any, Any, Generator] | None = None


def python() -> Generator:
    """The generator behind `random.random()`."""
    global _python
    copy = random.getstate
    if _python is None or _python[0] is not copy:
        owner = getattr(copy, "__self__", None)
        _python = copy, Generator(_look_of_python(owner) if _python_is_known() else None, copy)
    return _python[1]


def numpy(module: Any) -> Generator:
    """The generator behind `numpy.random.random()`; `module` is `numpy.random`."""
    global _numpy
    copy = module.get_state
    bits = getattr(getattr(copy, "__self__", None), "_bit_generator", None)
    # numpy.random.set_bit_generator() puts another one in its place.
    if _numpy is None or _numpy[0] is not copy or _numpy[1] is not bits:
        owner = getattr(copy, "__self__", None)
        _numpy = copy, bits, Generator(_look_of_numpy(owner) if _numpy_is_known(module) else None, copy)
    return _numpy[2]


def _look_of_python(generator: Any) -> Callable[[], Any] | None:
    if type(generator) is not random.Random:
        return None
    first, last = _ends(id(generator) + _HEAD)
    # The second of two normal numbers that were drawn at once.
    left: Callable[[], Any] = functools.partial(getattr, generator, "gauss_next")
    return lambda: (first.raw, last.raw, left())


def _look_of_numpy(generator: Any) -> Callable[[], Any] | None:
    bits: Any = getattr(generator, "_bit_generator", None)
    if type(bits).__name__ != "MT19937":
        return None
    # The generator itself has the second of two normal numbers that were drawn at once.
    own = _memory(id(generator) + _HEAD, type(generator).__basicsize__ - _HEAD)
    first, last = _ends(bits.ctypes.state_address)
    # The generator is what keeps this memory alive.
    return lambda: (first.raw, last.raw, own.raw, generator)


def _ends(twister: int) -> tuple[Any, Any]:
    return _memory(twister, _END), _memory(twister + _TWISTER - _END, _END)


def _memory(address: int, size: int) -> Any:
    return (ctypes.c_char * size).from_address(address)


@functools.cache
def _python_is_known() -> bool:
    return _tells(lambda: random.Random(1), _look_of_python, "gauss")


@functools.cache
def _numpy_is_known(module: Any) -> bool:
    return _tells(lambda: module.RandomState(1), _look_of_numpy, "normal")


def _tells(make: Callable[[], Any], look_of: Callable[[Any], Callable[[], Any] | None], normal: str) -> bool:
    """Whether the look changes whenever the state does, and not when a copy is made of it."""
    if sys.implementation.name != "cpython":
        return False
    try:
        generator = make()
        look = look_of(generator)
        if look is None:
            return False
        copy = getattr(generator, "getstate", None) or generator.get_state
        # A full turn, of two numbers each; every second normal number only takes what the first has left.
        turn = [generator.random] * 312
        draws = turn + [functools.partial(getattr(generator, normal), 0.0, 1.0)] * 4
        looks = [look()]
        for draw in draws:
            draw()
            copy()
            looks.append(look())
        for draw in turn:
            draw()
        return len({*looks, look()}) == len(looks) + 1 and look() == look()
    except (AttributeError, TypeError, ValueError):
        return False
