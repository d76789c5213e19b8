"""The gradients that were there before a step: those of steps whose gradients accumulate."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import torch

from .failures import once, steadily, write


class Gradients:
    """The gradients of a step's parameters, as they were when it began.

    A whole batch is tried with them set aside: nothing is copied, and its own gradients are added to them afterwards,
    which is the sum that PyTorch makes. Parts accumulate into them, as parts in a hand-written loop do, while a copy is
    kept on the host.
    """

    def __init__(self) -> None:
        self._parameters: list[Any] = []
        self._known: set[int] = set()
        # The parameters that had a gradient when the step began, each with it: mostly none has. And the gradients' copies
        # on the host, where there are any.
        self._had: list[tuple[Any, Any]] = []
        self._copies: list[Any] | None = None
        self._aside = False

    def add(self, parameters: Iterable[Any]) -> None:
        """More parameters, each once. Inside a step they are treated as the others are."""
        new = [each for each in parameters if each.requires_grad and id(each) not in self._known]
        self._known.update(map(id, new))
        self._parameters += new
        fresh = _with_gradients(new)
        self._had += fresh
        if self._copies is not None:
            self._copies += [_on_host(before) for _, before in fresh]
        if self._aside:
            for parameter, _ in fresh:
                parameter.grad = None

    @property
    def parameters(self) -> list[Any]:
        """All parameters known so far."""
        return self._parameters

    def begin(self) -> None:
        """A step begins: its gradients are noted."""
        self._had = _with_gradients(self._parameters)
        self._copies = None
        self._aside = False

    def set_aside(self) -> None:
        """Before an attempt with the whole batch."""
        self._aside = True
        for parameter, _ in self._had:
            parameter.grad = None

    def copy(self) -> None:
        """Before an attempt in parts. The copies are made once a step."""
        self._aside = False
        if self._copies is None:
            self._copies = steadily(lambda: [_on_host(before) for _, before in self._had])

    def drop(self, parameters: Iterable[Any]) -> None:
        """The step itself has called `zero_grad()`: what was set aside of these is not added again."""
        if not self._aside:
            return
        dropped = set(map(id, parameters))
        stay = [id(each) not in dropped for each, _ in self._had]
        self._had = list(itertools.compress(self._had, stay))
        if self._copies is not None:
            self._copies = list(itertools.compress(self._copies, stay))

    def restore(self) -> None:
        """Everything as it was when the step began."""
        for parameter in self._parameters:
            parameter.grad = None
        for parameter, before in self._had:
            parameter.grad = before
        for (_, before), copy in zip(self._had, self._copies or []):
            write(before, copy)

    def has(self, parameters: Iterable[Any]) -> bool:
        """Whether one of these is among them."""
        return any(id(each) in self._known for each in parameters)

    def finish(self) -> None:
        """The step has succeeded: what was set aside is there again, plus what is new."""
        for parameter, before in self._had if self._aside else []:
            new = parameter.grad
            if new is not None:
                _add(before, new)
            parameter.grad = before
        self.end()

    def end(self) -> None:
        """The step is over."""
        self._had = []
        self._copies = None
        self._aside = False


def _with_gradients(parameters: list[Any]) -> list[tuple[Any, Any]]:
    return [(each, gradient) for each in parameters if (gradient := each.grad) is not None]


def _on_host(gradient: Any) -> Any:
    copy: Any = gradient.detach().to("cpu")
    return copy.clone() if copy is gradient or copy.data_ptr() == gradient.data_ptr() else copy


def _add(before: Any, new: Any) -> None:
    with torch.no_grad():
        once(before, lambda: before.add_(new))
