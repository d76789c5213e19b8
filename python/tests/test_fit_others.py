"""What other tools get wrong when they shrink batches: each is a claim here. The other way is written out beside ours, and
fails."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed here")

import torch
from fit_jobs import JOBS, Training, out_of_memory
from torch import nn

import oomph

torch.set_num_threads(1)


def test_mean_of_means() -> None:
    """Accumulating the means of parts by their number, as is usual, gives other gradients where parts differ."""
    job = JOBS["transformer"]
    training = Training(job)
    model, batch = training.model.eval(), training.batches[0]

    def gradients(run: Any) -> list[Any]:
        model.zero_grad()
        run()
        return [each.grad.clone() for each in model.parameters()]

    def mean_of_means() -> None:
        for part in range(3):
            (job.loss(model, *(each[2 * part : 2 * part + 2] for each in batch)) / 3).backward()

    def error(run: Any) -> float:
        return max(float((one - other).abs().max()) for one, other in zip(gradients(run), whole))

    whole = gradients(lambda: job.loss(model, *batch).backward())
    fit = oomph.fit(lambda *batch: job.loss(model, *batch), parts=3)
    assert error(lambda: fit(*batch)) < 1e-6 < 1e-3 < error(mean_of_means)


def test_the_number_of_steps_and_the_learning_rate() -> None:
    """Restarting with half the batch makes twice the steps, and the schedule, made for the old number, ends early."""

    def train(fits: bool, halve: bool) -> tuple[int, list[float]]:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        data, size = torch.randn(32, 4), 4 if halve else 8
        schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=4)
        rates = []

        @oomph.fit(count="samples")
        def step(x: Any) -> Any:
            if len(x) > 4 and not fits:
                raise out_of_memory()
            return model(x).square().mean()

        for x in data.split(size):
            optimizer.zero_grad()
            step(x)
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
        return len(rates), rates

    expected = (4, [1.0, 0.75, 0.5, 0.25])
    assert train(fits=True, halve=False) == train(fits=False, halve=False) == expected
    steps, rates = train(fits=True, halve=True)
    assert steps == 8 and rates[4:] == [0.0] * 4


def test_an_out_of_memory_after_tuning_is_survived() -> None:
    """A batch size that was found once is wrong as soon as a longer sample comes."""
    embedding, used = nn.Embedding(9, 4), []

    @oomph.fit(count="samples")
    def step(words: Any) -> Any:
        if words.numel() > 64:
            raise out_of_memory()
        return embedding(words).square().mean()

    for length in (4, 8, 16, 32, 8, 4):
        step(torch.ones(8, length, dtype=torch.long))
        used.append(step.used)
    assert used == [1, 1, 2, 4, 1, 1]


def test_validation_is_not_cut_short() -> None:
    layer, seen = nn.Linear(4, 2), []

    @oomph.fit
    def validate(x: Any) -> Any:
        if len(x) > 3:
            raise out_of_memory()
        seen.append(x)
        return layer(x)

    data = torch.randn(23, 4)
    with torch.no_grad():
        found = torch.cat([validate(x) for x in data.split(10)])
    assert len(found) == 23 and torch.allclose(found, layer(data), atol=1e-6)
    assert torch.equal(torch.cat(seen), data)


def test_operations_that_nobody_has_heard_of_are_exact_too() -> None:
    """Nothing is computed lazily or by a table of operations: an operation of the user's own is cut like any other."""

    class Odd(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, x: Any) -> Any:
            context.save_for_backward(x)
            return x.sin() * x.abs().sqrt()

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            (x,) = context.saved_tensors
            return gradient * (x.cos() + 1)

    layer, x = nn.Linear(4, 3), torch.randn(7, 4)
    expected = torch.autograd.grad(Odd.apply(layer(x)).mean(), list(layer.parameters()))
    oomph.fit(lambda x: Odd.apply(layer(x)).mean(), parts=3)(x)
    assert all(torch.allclose(each.grad, want, atol=1e-6) for each, want in zip(layer.parameters(), expected))
