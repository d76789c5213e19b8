"""The states of Python's and NumPy's generators before a step, which are copied only where they have moved."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import numpy.random
import pytest

from oomph._fit import generators


@pytest.fixture(autouse=True)
def _put_back() -> Iterator[None]:
    python, bits, state = random.getstate(), numpy.random.get_bit_generator(), numpy.random.get_state()
    yield
    random.setstate(python)
    numpy.random.set_bit_generator(bits)
    numpy.random.set_state(state)


def _python() -> Any:
    return generators.python().state()


def _numpy() -> Any:
    name, numbers, *rest = generators.numpy(numpy.random).state()
    return name, numbers.tolist(), *rest


def _numpy_itself() -> Any:
    name, numbers, *rest = numpy.random.get_state()
    return name, numbers.tolist(), *rest


PYTHON: dict[str, Callable[[], object]] = {
    "one number": random.random,
    "32 bits": lambda: random.getrandbits(32),
    "a full turn": lambda: [random.getrandbits(32) for _ in range(624)],
    "ten full turns": lambda: [random.getrandbits(32) for _ in range(6240)],
    "a seed": lambda: random.seed(7),
    "a seed that differs by one": lambda: random.seed(8),
    "a normal number": lambda: random.gauss(0, 1),
    "the other half of it": lambda: random.gauss(0, 1),
    "a shuffle": lambda: random.shuffle(list(range(9))),
    "a state": lambda: random.setstate(random.Random(3).getstate()),
    "only the half that is left": lambda: random.setstate((*random.getstate()[:2], 0.5)),
}

NUMPY: dict[str, Callable[[], object]] = {
    "one number": numpy.random.random,
    "a full turn": lambda: numpy.random.random(312),
    "ten full turns": lambda: numpy.random.random(3120),
    "a seed": lambda: numpy.random.seed(7),
    "a seed that differs by one": lambda: numpy.random.seed(8),
    "a normal number": lambda: numpy.random.normal(),
    "the other half of it": lambda: numpy.random.normal(),
    "a permutation": lambda: numpy.random.permutation(9),
    "a state": lambda: numpy.random.set_state(numpy.random.RandomState(3).get_state()),
    "only the half that is left": lambda: numpy.random.set_state((*numpy.random.get_state()[:3], 1, 0.5)),
}


@pytest.mark.parametrize("times", [1, 2])
def test_whatever_moves_pythons_generator_is_seen(times: int) -> None:
    random.seed(1)
    for what, move in PYTHON.items():
        for _ in range(times):
            move()
            assert _python() == random.getstate(), what


@pytest.mark.parametrize("times", [1, 2])
def test_whatever_moves_numpys_generator_is_seen(times: int) -> None:
    numpy.random.seed(1)
    for what, move in NUMPY.items():
        for _ in range(times):
            move()
            assert _numpy() == _numpy_itself(), what


def test_a_state_is_copied_once_until_it_moves() -> None:
    copies: list[Any] = []

    def copy() -> Any:
        copies.append(own.getstate())
        return copies[-1]

    own = random.Random(1)
    look = generators._look_of_python(own)
    assert generators._python_is_known() and look is not None
    watched = generators.Generator(look, copy)
    for _ in range(3):
        assert watched.state() == own.getstate()
    assert len(copies) == 1
    own.random()
    assert watched.state() == own.getstate() and len(copies) == 2


def test_numpys_memory_is_known_here() -> None:
    assert generators._numpy_is_known(numpy.random)


@pytest.mark.filterwarnings("ignore:get_state:RuntimeWarning")
def test_another_generator_in_numpys_place_is_seen() -> None:
    before = _numpy()
    numpy.random.set_bit_generator(numpy.random.PCG64(5))
    for _ in range(3):
        numpy.random.random()
        assert generators.numpy(numpy.random).state() == numpy.random.get_state(legacy=False)
    numpy.random.set_bit_generator(numpy.random.MT19937(5))
    assert _numpy() == _numpy_itself() != before


def test_another_function_in_pythons_place_is_asked_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = iter(["first", "second"])
    monkeypatch.setattr(random, "getstate", lambda: next(asked))
    assert [_python(), _python()] == ["first", "second"]


def test_memory_that_does_not_tell_is_not_trusted() -> None:
    blind = generators._tells(lambda: random.Random(1), lambda generator: lambda: 0, "gauss")
    half_blind = generators._tells(
        lambda: random.Random(1), lambda generator: lambda: generator.getstate()[1], "gauss"
    )
    restless = generators._tells(lambda: random.Random(1), lambda generator: lambda: object(), "gauss")
    assert [blind, half_blind, restless] == [False, False, False]
