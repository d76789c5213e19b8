"""Text that a model generates. How long it becomes depends on values nobody knows; the longest is what needs most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .shadows import contents_of, is_made_up

_ASKED = "_beam_search_has_unfinished_sequences"


def watched() -> dict[str, Callable[[Any], None]]:
    """Modules that are waited for, and what is done with each."""
    return {"transformers.generation.utils": patient}


def patient(module: Any) -> None:
    """A beam search of transformers ends where all its beams must, not where their scores would let it."""
    if not hasattr(module.GenerationMixin, _ASKED):
        return

    def has_unfinished(_scores: Any, _finished: Any, must_stop: Any, _early: Any = None) -> bool:
        known = contents_of(must_stop)
        return known is None or is_made_up(must_stop) or not bool(known.all())

    setattr(module.GenerationMixin, _ASKED, staticmethod(has_unfinished))
