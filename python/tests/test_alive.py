"""Objects are found while other threads run, and the threads never meet the search."""

from __future__ import annotations

import sys
import threading
import time

import pytest
from oomph._recorder import alive


class Kind:
    pass


class Derived(Kind):
    pass


class Proxy:
    """Says that it is what it is not."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise AssertionError("it was asked")


def test_instances_are_found_by_what_they_are() -> None:
    things = [Kind(), Derived(), Proxy(), object()]
    assert {id(thing) for thing in alive.instances(Kind)} == {id(things[0]), id(things[1])}


def test_what_is_referred_to_is_told_from_what_the_search_holds() -> None:
    kept, held = Kind(), Kind()
    keeper, own = [kept], [held]
    found = alive.referred({id(own)}, [])
    assert id(kept) in found and id(held) not in found
    assert alive.referrers({id(kept), id(held)}, {id(own)}, []) == [(list, {id(kept)})]
    assert keeper


@pytest.mark.parametrize("search", ["instances", "referred", "referrers"])
def test_threads_that_fill_tuples_go_on(search: str) -> None:
    kept = Kind()
    heap = [[n] for n in range(20_000)]
    is_over = threading.Event()
    broken: list[SystemError] = []

    def fill() -> None:
        while not is_over.is_set():
            try:
                tuple(n for n in range(50) if n % 3)
            except SystemError as error:
                broken.append(error)
                return

    threads = [threading.Thread(target=fill) for _ in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        end = time.monotonic() + 1
        while time.monotonic() < end and not broken:
            if search == "instances":
                assert alive.instances(Kind) == [kept]
            elif search == "referred":
                alive.referred({id(heap)}, [])
            else:
                alive.referrers({id(kept)}, set(), [])
    finally:
        is_over.set()
        sys.setswitchinterval(interval)
        for thread in threads:
            thread.join()
    assert broken == []
