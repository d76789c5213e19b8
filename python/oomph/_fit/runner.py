"""Runs the steps of a program."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from . import attempt, optimizer, patches
from .before import Before
from .call import Call, key_of
from .modules import Modules
from .ranks import Ranks
from .running import now
from .sizes import Sizes
from .weights import Weights


class Runner:
    """Runs steps, in parts where a whole batch does not fit."""

    def __init__(
        self,
        models: Iterable[Any],
        optimizers: Iterable[Any],
        count: str | Callable[..., Any] | None,
        split: Sequence[int | str] | None,
        keep: Sequence[Any],
        accept: Sequence[str],
        gather: str | Callable[[list[Any]], Any] | None,
    ) -> None:
        patches.install()
        self.modules = Modules(models)
        self.before = Before(keep, accept)
        self.split = split
        self.accept = accept
        self.gather = gather
        self.count = count
        self.weights: dict[Any, Weights] = {}
        self.sizes = Sizes()
        self._ranks: Ranks | None = None
        # The steps whose modules are all known.
        self._seen: set[Any] = set()
        self._tell(self.modules.all)
        for each in optimizers:
            self.before.add([], [parameter for group in each.param_groups for parameter in group["params"]])
            optimizer.attach(each)
        optimizer.know(self.before.gradients)
        # How many parts the last step was cut into, how often it was tried, and what the next ones are cut into.
        self.used = 1
        self.attempts = 0
        self.forced: int | None = None

    def _tell(self, modules: list[Any]) -> None:
        self.before.add(modules, [each for module in modules for each in module.parameters(recurse=False)])

    def __call__(self, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs one step, and gives what it gives, without graphs."""
        if now() is not None:
            # Inside another step, which is repeated as a whole.
            return step(*args, **kwargs)
        ranks = self._ranks
        if ranks is None:
            ranks = self._ranks = Ranks(self.modules.roots)
        trains = torch.is_grad_enabled()
        is_known = self.modules.named or key_of(step, trains) in self._seen
        if is_known and ranks.is_alone:
            if self.forced is None and self.sizes.is_empty:
                return self._at_once(step, args, kwargs, trains, ranks)
            return Call(self, step, args, kwargs, trains).run(ranks)
        with contextlib.ExitStack() as stack:
            if not is_known:
                stack.enter_context(self.modules.found(self._tell))
            stack.enter_context(ranks.quiet(trains))
            result = Call(self, step, args, kwargs, trains).run(ranks)
        self._seen.add(key_of(step, trains))
        return result

    def _at_once(
        self, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], trains: bool, ranks: Ranks
    ) -> Any:
        """A step where every batch has fitted so far: nothing is looked at that only a failure needs. Short steps feel each
        line here."""
        before = self.before
        before.begin()
        try:
            result = attempt.whole(self, step, args, kwargs, trains)
        except Exception as error:
            call = Call(self, step, args, kwargs, trains, error)
        except BaseException:
            before.gradients.restore()
            raise
        else:
            self.used = self.attempts = 1
            if trains:
                before.gradients.finish()
            before.end()
            return result
        return call.run(ranks)
