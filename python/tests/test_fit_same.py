"""Trainings in which memory runs out, at every operation in turn: forward, backward, clipping, the optimizer's step and
evaluation. What is left of them is bit for bit what a training by hand leaves that cut its batches so from the start.

`./x test` fails at some of the operations, OOMPH_ATTACK=1 at all of them. OOMPH_SEED=N chooses others."""

from __future__ import annotations

import gc
import os
import random

import pytest

pytest.importorskip("torch", reason="torch is not installed here")

import torch
from fit_jobs import JOBS, Training, by_hand, differences, with_fit

ALL = bool(os.environ.get("OOMPH_ATTACK"))
SEED = int(os.environ.get("OOMPH_SEED", "1"))
POINTS = 16


def check(name: str, *fail_at: int, accumulate: int = 1) -> list[int]:
    trained = Training(JOBS[name])
    used, failures = with_fit(trained, *fail_at, accumulate=accumulate)
    assert failures.raised, f"{name} has no operation {fail_at}"
    state = trained.state()
    expected = Training(JOBS[name])
    by_hand(expected, used, accumulate)
    assert differences(state, expected.state()) == [], f"{name}, failed at {fail_at} ({failures.raised}), parts {used}"
    return used


def operations(name: str) -> int:
    # The first training of a process takes memory that is kept: an operation more than the others have.
    with_fit(Training(JOBS[name]))
    used, failures = with_fit(Training(JOBS[name]))
    assert used == [1, 1, 1, 1]
    # Collecting garbage after each failure need not look at what is imported.
    gc.freeze()
    return failures.count


@pytest.mark.parametrize("name", JOBS)
def test_after_a_failure_the_training_is_that_of_its_split(name: str) -> None:
    count = operations(name)
    points = range(1, count + 1) if ALL else sorted(random.Random(f"{SEED} {name}").sample(range(1, count + 1), POINTS))
    cut = sum(max(check(name, point)) > 1 for point in points)
    # Operations of the optimizer and of clipping are repeated on their own, without cutting a batch.
    assert 0 < cut < len(points)


@pytest.mark.parametrize("name", JOBS)
def test_after_many_failures_too(name: str) -> None:
    draw = random.Random(f"{SEED} {name} many")
    count = operations(name)
    for _ in range(40 if ALL else 3):
        check(name, *(draw.randint(1, count) for _ in range(draw.randint(2, 3))))


@pytest.mark.parametrize("name", ["mlp", "transformer"])
def test_gradients_of_earlier_steps_stay(name: str) -> None:
    """Gradients accumulate over three batches before the optimizer's step."""
    draw = random.Random(f"{SEED} {name} earlier")
    count = with_fit(Training(JOBS[name]), accumulate=3)[1].count
    for _ in range(60 if ALL else 4):
        check(name, draw.randint(1, count), accumulate=3)


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "NAdam"])
def test_every_optimizer_survives_a_failure_in_its_step(kind: str, foreach: bool) -> None:
    def make(groups: list[dict[str, object]]) -> object:
        options = {"momentum": 0.9} if kind in ("SGD", "RMSprop") else {}
        return getattr(torch.optim, kind)(groups, lr=1e-2, foreach=foreach, **options)

    def train(*fail_at: int) -> tuple[Training, int]:
        training = Training(JOBS["mlp"], make)
        _, failures = with_fit(training, *fail_at)
        assert failures.raised or not fail_at
        return training, failures.count

    expected = Training(JOBS["mlp"], make)
    by_hand(expected, [1, 1, 1, 1])
    state = expected.state()
    undisturbed, count = train()
    assert differences(undisturbed.state(), state) == []
    # The update of the last step is near the end, before the evaluation.
    for point in range(count - 60, count - 10, 1 if ALL else 9):
        training = Training(JOBS["mlp"], make)
        used, _ = with_fit(training, point)
        after = training.state()
        if used == [1, 1, 1, 1]:
            assert differences(after, state) == [], f"failed at {point}"
