"""What the loss of a batch averages over: the mean of the means of its parts must not happen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed here")

import torch
from fit_jobs import out_of_memory
from torch import nn

import oomph

torch.set_num_threads(1)
Loss = Callable[..., Any]


class Words(nn.Module):  # type: ignore[misc]
    """A language model."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(13, 8)
        self.mix = nn.GRU(8, 8, batch_first=True)
        self.head = nn.Linear(8, 13)

    def forward(self, words: Any) -> Any:
        return self.head(self.mix(self.embed(words))[0])


def sentences(lengths: list[int], pad: int = 0) -> tuple[Any, Any]:
    torch.manual_seed(1)
    mask = torch.arange(8) < torch.tensor(lengths)[:, None]
    return torch.where(mask, torch.randint(2, 13, (len(lengths), 8)), pad), mask


def gradients(model: Any, step: Loss, *batch: Any, parts: int, **options: Any) -> tuple[list[Any], float]:
    model.zero_grad()
    loss = oomph.fit(step, parts=parts, **options)(*batch)
    return [each.grad.clone() for each in model.parameters()], float(loss)


def is_exact(model: Any, step: Loss, *batch: Any, parts: int = 3, **options: Any) -> bool:
    """Whether the gradients and the loss of the parts are those of the whole, to 1e-6 in float32."""
    whole, loss = gradients(model, step, *batch, parts=1, **options)
    found, cut_loss = gradients(model, step, *batch, parts=parts, **options)
    largest = max(float(each.abs().max()) for each in whole)
    error = max(float((one - other).abs().max()) for one, other in zip(whole, found))
    return error <= 1e-6 * max(1.0, largest) and abs(loss - cut_loss) <= 1e-6 * max(1.0, abs(loss))


LENGTHS = [8, 1, 1, 7, 2, 1]


def test_tokens_that_are_not_ignored() -> None:
    model = Words()
    words, mask = sentences(LENGTHS)
    labels = torch.where(mask, words, -100)

    def step(words: Any, labels: Any) -> Any:
        return nn.functional.cross_entropy(model(words).flatten(0, 1), labels.flatten())

    assert is_exact(model, step, words, labels)
    assert is_exact(model, step, words, labels, parts=6)
    assert is_exact(model, step, words, labels, count="tokens")
    assert is_exact(model, step, words, labels, count=lambda words, labels: (labels != -100).sum())
    # Told to average over samples, it does, and that is another result.
    assert not is_exact(model, step, words, labels, count="samples")


def test_tokens_behind_the_first() -> None:
    model = Words()
    words, mask = sentences(LENGTHS)
    labels = torch.where(mask, words, -100)

    def step(words: Any, labels: Any) -> Any:
        scores = model(words)[:, :-1]
        return nn.functional.cross_entropy(scores.flatten(0, 1), labels[:, 1:].flatten())

    assert is_exact(model, step, words, labels, parts=2)
    assert is_exact(model, step, words, labels, parts=2, count="tokens")


def test_a_mask() -> None:
    model = Words()
    words, mask = sentences(LENGTHS)

    def step(batch: dict[str, Any]) -> Any:
        losses = nn.functional.cross_entropy(model(batch["words"]).transpose(1, 2), batch["words"], reduction="none")
        return (losses * batch["mask"]).sum() / batch["mask"].sum()

    assert is_exact(model, step, {"words": words, "mask": mask})
    assert is_exact(model, step, {"words": words, "mask": mask.float()})


def test_words_that_are_not_padding() -> None:
    model = Words()
    words, _ = sentences(LENGTHS, pad=1)

    def step(words: Any) -> Any:
        return nn.functional.cross_entropy(model(words).flatten(0, 1), words.flatten(), ignore_index=1)

    assert is_exact(model, step, words)


def test_samples_in_parts_of_different_sizes() -> None:
    model = Words()
    words, _ = sentences([8] * 7)

    def step(words: Any) -> Any:
        return nn.functional.cross_entropy(model(words).flatten(0, 1), words.flatten())

    assert is_exact(model, step, words, parts=2)
    assert is_exact(model, step, words, parts=5)


def test_sums_and_losses_divided_by_a_number_that_is_passed_in() -> None:
    model = Words()
    words, _ = sentences(LENGTHS)

    def step(words: Any, items: Any) -> Any:
        return nn.functional.cross_entropy(model(words).flatten(0, 1), words.flatten(), reduction="sum") / items

    assert is_exact(model, step, words, 48)
    assert is_exact(model, step, words, torch.tensor(48))


def test_two_losses_with_different_means() -> None:
    model = Words()
    words, mask = sentences(LENGTHS)
    labels = torch.where(mask, words, -100)

    def step(words: Any, labels: Any) -> Any:
        scores = model(words)
        by_token = nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten())
        by_token.backward(retain_graph=True)
        by_sample = scores.square().mean()
        by_sample.backward()
        return by_token.item() + 0.0, by_sample.detach()

    whole, both = [], []
    for parts in (1, 3):
        model.zero_grad()
        both.append([float(each) for each in oomph.fit(step, parts=parts)(words, labels)])
        whole.append([each.grad.clone() for each in model.parameters()])
    assert max(float((one - other).abs().max()) for one, other in zip(*whole)) < 1e-6
    assert both[0] == pytest.approx(both[1], rel=1e-6)


def test_a_count_that_one_batch_does_not_tell_is_told_by_the_next() -> None:
    model = Words()

    def step(words: Any, labels: Any) -> Any:
        return nn.functional.cross_entropy(model(words).flatten(0, 1), labels.flatten())

    fit = oomph.fit(step)
    for lengths in ([8] * 6, LENGTHS):
        words, mask = sentences(lengths)
        labels = torch.where(mask, words, -100)
        found = []
        for fit.parts in (1, 3):
            model.zero_grad()
            fit(words, labels)
            found.append([each.grad.clone() for each in model.parameters()])
        assert max(float((one - other).abs().max()) for one, other in zip(*found)) < 1e-6


def test_a_loss_that_parts_do_not_have_is_refused() -> None:
    layer = nn.Linear(3, 3)

    def step(x: Any) -> Any:
        if len(x) == 6 and torch.is_grad_enabled():
            raise out_of_memory()
        # Every sample is compared with every other.
        return (layer(x) @ layer(x).T).softmax(1).square().mean()

    with pytest.raises(torch.OutOfMemoryError) as raised:
        oomph.fit(step)(torch.randn(6, 3))
    assert raised.value.__notes__ == [
        "oomph.fit: what the loss averages over is not found; pass count=: samples, tokens, sum or a function"
    ]


def test_a_part_with_nothing_to_average_over_counts_nothing() -> None:
    model = Words()
    words, mask = sentences([8, 8, 1, 1, 3, 3])
    labels = torch.where(mask, words, -100)
    labels[2:4] = -100

    def step(words: Any, labels: Any) -> Any:
        return nn.functional.cross_entropy(model(words).flatten(0, 1), labels.flatten())

    assert is_exact(model, step, words, labels, parts=3)


def test_a_scaler_and_backward_inside_the_step() -> None:
    model = Words()
    words, mask = sentences(LENGTHS)
    labels = torch.where(mask, words, -100)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

    def step(words: Any, labels: Any) -> Any:
        loss = nn.functional.cross_entropy(model(words).flatten(0, 1), labels.flatten())
        scaler.scale(loss).backward()
        return loss.detach()

    assert is_exact(model, step, words, labels, keep=[scaler])
