"""Objects that are alive, by their class, found while other threads run.

`gc.get_objects()` hands out tuples that another thread is still filling. Where the interpreter switches to that thread
before they are let go, it finds that somebody else holds its tuple, and raises SystemError. So a search here is a single
call into iterators written in C: the interpreter does not switch inside it, no code of the program runs, and when it ends
only what was looked for is held.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, compress, repeat, starmap
from operator import not_, or_
from typing import Any


def _search(select: Callable[[list[Any]], Iterable[Any]]) -> Iterator[Any]:
    """What `select` makes of the list of all objects. It is given the list while that is empty, to make iterators of it;
    the list is filled when the first result is asked for, and emptied after the last."""
    everything: list[Any] = []
    fill = map(everything.extend, starmap(gc.get_objects, [()]))
    clear = starmap(everything.clear, [()])
    # Both give None, which `compress` drops.
    return chain(compress(repeat(None), fill), select(everything), compress(repeat(None), clear))


def _with_subclasses(kinds: Iterable[type]) -> set[int]:
    """The ids of these classes and of those that derive from them."""
    found: dict[int, type] = {}
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop()
        if id(kind) not in found:
            found[id(kind)] = kind
            waiting += type.__subclasses__(kind)
    return set(found)


def instances(*kinds: type) -> list[Any]:
    """The objects whose class is one of these or derives from one. A proxy counts as what it is itself."""
    wanted = _with_subclasses(kinds)
    with _no_collection():
        return list(_search(lambda things: compress(things, map(wanted.__contains__, map(id, map(type, things))))))


def referred(but: set[int], kinds: Iterable[type]) -> set[int]:
    """The ids of what objects refer to. Not counted are the objects with the ids `but`, and those of `kinds`."""
    counted = _others(but, kinds)
    with _no_collection():
        return set(_search(lambda things: map(id, chain.from_iterable(map(gc.get_referents, counted(things))))))


def referrers(wanted: set[int], but: set[int], kinds: Iterable[type]) -> list[tuple[type, set[int]]]:
    """What refers to objects with the ids `wanted`: for each such object its class, and the ids of what it refers to. It is
    not given itself, for it may be a tuple that is being filled. Not counted are `but` and `kinds`, as in `referred`."""
    counted = _others(but, kinds)

    def ids(things: Iterator[Any]) -> Iterator[Iterator[int]]:
        return map(partial(map, id), map(gc.get_referents, things))

    def found(things: list[Any]) -> Iterator[Any]:
        return compress(counted(things), map(not_, map(wanted.isdisjoint, ids(counted(things)))))

    def select(things: list[Any]) -> Iterator[tuple[type, set[int]]]:
        return zip(map(type, found(things)), map(set, ids(found(things))))

    with _no_collection():
        return list(_search(select))


def _others(but: set[int], kinds: Iterable[type]) -> Callable[[list[Any]], Iterator[Any]]:
    apart = _with_subclasses(kinds)

    def others(things: list[Any]) -> Iterator[Any]:
        is_apart = map(apart.__contains__, map(id, map(type, things)))
        # The list of all objects is one of them, and refers to all.
        is_named = map({*but, id(things)}.__contains__, map(id, things))
        return compress(things, map(not_, map(or_, is_apart, is_named)))

    return others


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Up to Python 3.11 the collector may run inside a call, and with it finalizers of the program."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()
