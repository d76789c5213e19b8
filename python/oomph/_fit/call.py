"""One call of a step: its attempts, until one succeeds on every rank."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import attempt, outputs
from .batch import Batch, cuts
from .failures import Refusal, is_failure, make_room, noted
from .randomness import Randomness
from .ranks import AGAIN, GOOD, STOP, Ranks
from .running import Part
from .sizes import Shape
from .weights import Plan, Weights

if TYPE_CHECKING:
    from .runner import Runner


def key_of(step: Callable[..., Any], trains: bool) -> tuple[Any, bool]:
    """What a step is known by. A function that is made again for every call has the same code."""
    return getattr(step, "__code__", step), trains


class Call:
    """One call of a step."""

    def __init__(
        self,
        runner: Runner,
        step: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        trains: bool,
        first: Exception | None = None,
    ) -> None:
        self._runner = runner
        self._step = step
        self._args = args
        self._kwargs = kwargs
        self._before = runner.before
        self.trains = trains
        # What an attempt with the whole batch has ended in already, after `before.begin()`.
        self._first = first
        # The last time that memory ran out.
        self._failure: BaseException | None = None
        # Whether one sample at a time has been tried.
        self._was_last = False

    @functools.cached_property
    def _batch(self) -> Batch:
        """The arguments as something that can be cut. While every batch fits nobody looks at them."""
        return Batch(self._args, self._kwargs, self._runner.split)

    @functools.cached_property
    def _shape(self) -> Shape:
        return ((key_of(self._step, self.trains), ()), *self._batch.shape)

    @functools.cached_property
    def _weights(self) -> Weights:
        kinds = tuple((kind, len(dims)) for kind, dims in self._batch.shape)
        key = (key_of(self._step, self.trains), kinds)
        return self._runner.weights.setdefault(key, Weights(self._runner.count))

    def run(self, ranks: Ranks) -> Any:
        """The step's result for the whole batch. The gradients are those of the whole batch too, averaged over ranks."""
        runner = self._runner
        parts = 1
        if self._first is None:
            parts = self._first_parts()
            self._before.begin()
        runner.attempts = 0
        end: BaseException | None = None
        while True:
            runner.attempts += 1
            result, more, state = None, parts, GOOD
            if end is None:
                result, error = self._attempt(parts, ranks)
                if error is not None:
                    more, end = self._next(parts, error)
                    state = AGAIN
                del error
            state = STOP if end is not None else state
            worst, most = ranks.agree(state, more) if self.trains else (state, more)
            if worst == GOOD:
                break
            if state == GOOD:
                end = self._restored()
            if worst == STOP:
                self._stop(end)
            parts = max(1, min(most, self._batch.size))
        if not runner.forced and not runner.sizes.is_empty:
            runner.sizes.fitted(self._shape, self._batch.size, parts)
        runner.used = parts
        if self.trains:
            self._before.gradients.finish()
            ranks.average()
        self._before.end()
        self._failure = None
        return result

    def _first_parts(self) -> int:
        """Into how many parts the first attempt cuts the batch."""
        runner = self._runner
        if runner.forced is None and runner.sizes.is_empty:
            return 1
        size = self._batch.size
        if (runner.forced or 1) > 1 and size != 1:
            self._check_forced()
        return max(1, min(runner.forced or runner.sizes.parts(self._shape, size), size))

    def _check_forced(self) -> None:
        """What cannot be cut is not run whole where parts are asked for."""
        try:
            self._batch.check()
        except Refusal as refusal:
            raise ValueError(f"oomph.fit: {refusal}") from None

    def _stop(self, end: BaseException | None) -> None:
        """Ends the step with an error. Nothing of it is left, as far as it can be undone."""
        self._before.gradients.end()
        self._before.end()
        self._failure = None
        try:
            raise end or RuntimeError("oomph.fit: another rank could not go on with this step; its error says why")
        finally:
            # The error has this frame: neither is to keep the other.
            del end

    def _attempt(self, parts: int, ranks: Ranks) -> tuple[Any, BaseException | None]:
        first, self._first = self._first, None
        if first is not None:
            return None, first
        try:
            if parts == 1:
                result = attempt.whole(self._runner, self._step, self._args, self._kwargs, self.trains)
            else:
                result = self._parts(parts)
            if self.trains:
                ranks.prepare()
            return result, None
        except Exception as error:
            return None, error
        except BaseException:
            self._before.gradients.restore()
            raise

    def _next(self, parts: int, error: BaseException) -> tuple[int, BaseException | None]:
        """Everything as before, and how many parts to try now; or the error that ends the step."""
        if is_failure(error):
            self._failure = error
            make_room(error)
        undone = self._restored()
        if isinstance(error, Refusal):
            return self._refused(parts, error)
        if not is_failure(error):
            return parts, error
        try:
            self._batch.check()
            self._runner.modules.check(self._runner.accept)
            more = self._runner.sizes.failed(self._shape, self._batch.size, parts)
            if more <= parts:
                # The second time the cache is empty, and gradients of earlier steps are on the host.
                if self._was_last:
                    raise Refusal("one sample at a time does not fit either")
                self._was_last = True
        except Refusal as refusal:
            return self._refused(parts, refusal)
        return more, undone

    def _refused(self, parts: int, refusal: Refusal) -> tuple[int, BaseException | None]:
        if self._failure is not None:
            return parts, noted(self._failure, str(refusal))
        if self._runner.forced or parts == 1:
            return parts, ValueError(f"oomph.fit: {refusal}")
        # It was cut because others did not fit. Perhaps this one does.
        return 1, None

    def _restored(self) -> BaseException | None:
        """Everything as before the step; what went wrong, where something cannot be put back."""
        try:
            self._before.restore()
            return None
        except Refusal as refusal:
            failure = self._failure or RuntimeError("a step has to be repeated")
            return noted(failure, str(refusal))

    def _parts(self, parts: int) -> Any:
        self._batch.check()
        self._runner.modules.check(self._runner.accept)
        pieces = [self._batch.part(start, stop) for start, stop in cuts(self._batch.size, parts)]
        plan: Plan | None = None
        if self.trains:
            plan = self._plan(pieces, self._before.restore)
            self._before.gradients.copy()
        results: list[Any] = []
        ran: list[int] = []
        for index, piece in enumerate(pieces):
            # The mean over nothing is no number: a part without anything to average over is passed over.
            if plan is not None and plan.is_empty(index):
                continue
            part, weight = Part(is_first=not ran), None
            if plan is not None:
                part.weigh = plan.weigh_backward(index)
                weight = functools.partial(_weight, plan, index)
            gather = self._runner.gather
            results.append(attempt.run(self._step, piece.args, piece.kwargs, part, self.trains, gather, weight))
            ran.append(index)

        def weigh(number: int) -> list[float]:
            nonlocal plan
            if plan is None:
                plan = self._plan(pieces, Randomness().restore)
            weights = plan.returned(number)
            return [weights[index] for index in ran]

        return self._gathered(results, [pieces[index].size for index in ran], weigh)

    def _plan(self, pieces: list[Batch], restore: Callable[[], None]) -> Plan:
        return self._weights.plan(self._step, self._batch, pieces, self._runner.modules, restore)

    def _gathered(self, results: list[Any], sizes: list[int], weigh: Callable[[int], list[float]]) -> Any:
        if callable(self._runner.gather):
            return self._runner.gather(results)
        if len(results) == 1 and sizes[0] == self._batch.size:
            return results[0]
        return outputs.join(results, sizes, weigh, self._batch.size)


def _weight(plan: Plan, index: int, number: int) -> float:
    """Of the how many-th number that a part gives."""
    return plan.returned(number)[index]
