"""Random numbers that unfilled weights would have drawn: the generator goes on as if they had been, so that what is drawn
afterwards (the order of batches, lengths, samples) is what it is on a real card."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

# Functions that draw from PyTorch's generator on the host, by name. Those of torch.nn.init call others, but are seen first.
_DRAWING = frozenset(
    "rand randn randint randperm rand_like randn_like randint_like normal bernoulli multinomial poisson binomial random_ "
    "normal_ uniform_ bernoulli_ exponential_ geometric_ cauchy_ log_normal_ dropout dropout_ alpha_dropout feature_dropout "
    "feature_alpha_dropout dropout1d dropout2d dropout3d rrelu gumbel_softmax kaiming_uniform_ kaiming_normal_ xavier_uniform_ "
    "xavier_normal_ trunc_normal_ orthogonal_ sparse_ scaled_dot_product_attention fractional_max_pool2d".split()
)
# Normal numbers are made of pieces of this many; the last piece is drawn once more where it is not whole.
_PIECE = 16
# Functions that compute with 53 bits whatever they fill.
_OF_53_BITS = frozenset("bernoulli_ exponential_ geometric_ cauchy_ log_normal_".split())


def _drawn(name: str, length: int) -> int:
    """How many numbers of 32 bits a function of this name draws to fill so many elements; of 53 bits counted as one where the
    elements have them."""
    if name in _OF_53_BITS:
        return 2 * (length + (length % 2 if name == "log_normal_" else 0))
    if "normal" in name or name in ("randn", "randn_like", "orthogonal_"):
        return length + (_PIECE if length % _PIECE else 0)
    return length if "uniform" in name or name in ("rand", "rand_like", "random_") else 0


class Undrawn:
    """Counts what was not drawn, and moves the generator on before anybody looks at it."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._waiting = 0
        self._watch(torch)

    @functools.cached_property
    def _skip(self) -> Callable[[Any, int, int], int] | None:
        """The phantom's function that moves a state on; None where it does not end where drawing does."""
        try:
            skip = ctypes.CDLL(None).oomph_phantom_skip
        except (AttributeError, OSError):
            return None
        skip.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64]
        torch = self._torch
        drawn, skipped = (torch.Generator(device="cpu").manual_seed(1) for _ in "ab")
        torch.empty(5000, device="cpu").normal_(generator=drawn)
        self._move(skipped, skip, 5000 + _PIECE)
        return skip if bool((drawn.get_state() == skipped.get_state()).all()) else None

    def _move(self, generator: Any, skip: Callable[[Any, int, int], int], count: int) -> None:
        state = generator.get_state()
        if skip(state.data_ptr(), state.numel(), count) == 0:
            generator.set_state(state)

    def note(self, name: str, tensor: Any, generator: Any = None) -> None:
        """A function of this name would have filled this tensor."""
        count = _drawn(name, tensor.numel())
        # One number of 53 bits is made of two of 32.
        if tensor.dtype == self._torch.double and name not in _OF_53_BITS:
            count *= 2
        if generator is None or generator is self._torch.default_generator:
            self._waiting += count
        elif self._skip is not None:
            self._move(generator, self._skip, count)

    def before(self, name: str) -> None:
        """A function of this name is called."""
        if self._waiting and name in _DRAWING:
            self.settle()

    def settle(self) -> None:
        """Moves the generator to where it would be."""
        count, self._waiting = self._waiting, 0
        if count and self._skip is not None:
            self._move(self._torch.default_generator, self._skip, count)

    def _forget(self) -> None:
        self._waiting = 0

    def _watch(self, torch: Any) -> None:
        """What reads the generator, or puts it elsewhere."""
        for name, first in (
            ("get_rng_state", self.settle), ("set_rng_state", self._forget), ("manual_seed", self._forget), ("seed", self._forget),
        ):  # fmt: skip
            original = getattr(torch, name)
            changed = _after(first, original)
            for owner in (torch, torch.random):
                if getattr(owner, name, None) is original:
                    setattr(owner, name, changed)


def _after(first: Callable[[], None], function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        first()
        return function(*args, **kwargs)

    return call
