"""Small trainings for the tests of `oomph.fit`: as a user writes them, and by hand in parts without oomph."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import oomph

torch.set_num_threads(1)
BATCH, STEPS = 6, 3


class Failures(TorchDispatchMode):  # type: ignore[misc]
    """Memory runs out at the operations with these numbers, counted from 1. Backward's operations count too."""

    def __init__(self, *at: int) -> None:
        super().__init__()
        self.at = at
        self.count = 0
        self.raised: list[str] = []

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # Notes for PyTorch's profiler and messages to other ranks take no memory of tensors.
        counts = operation.namespace == "aten"
        self.count += counts
        if counts and self.count in self.at:
            self.raised.append(str(operation))
            raise out_of_memory()
        return operation(*args, **(kwargs or {}))


def out_of_memory() -> Exception:
    error: Exception = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 MiB.")
    return error


class Mlp(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, 16), nn.GELU(), nn.Dropout(0.2), nn.Linear(16, 3))

    def forward(self, x: Any) -> Any:
        return self.layers(x)


class Cnn(nn.Module):  # type: ignore[misc]
    def __init__(self, norm: Callable[[int], Any]) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(2, 8, 3, padding=1), norm(8), nn.ReLU(), nn.Dropout2d(0.2))
        self.head = nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.body(x).mean((2, 3)))


class Transformer(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(11, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
        self.head = nn.Linear(8, 11)

    def forward(self, words: Any, mask: Any) -> Any:
        return self.head(self.layer(self.words(words), src_key_padding_mask=~mask))


@dataclasses.dataclass
class Job:
    """A model with its data, and what its loss averages over."""

    model: Callable[[], Any]
    batch: Callable[[Any], tuple[Any, ...]]
    loss: Callable[..., Any]
    count: Callable[..., float]
    optimizer: Callable[[list[dict[str, Any]]], Any]
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


def images(generator: Any) -> tuple[Any, ...]:
    return torch.randn(BATCH, 2, 6, 6, generator=generator), torch.randint(0, 3, (BATCH,), generator=generator)


def vectors(generator: Any) -> tuple[Any, ...]:
    return torch.randn(BATCH, 5, generator=generator), torch.randint(0, 3, (BATCH,), generator=generator)


def sentences(generator: Any) -> tuple[Any, ...]:
    """Words, a mask, and labels, padded behind sentences of different lengths."""
    words = torch.randint(1, 11, (BATCH, 7), generator=generator)
    lengths = torch.randint(2, 8, (BATCH, 1), generator=generator)
    mask = torch.arange(7) < lengths
    labels = torch.where(mask, torch.randint(0, 11, (BATCH, 7), generator=generator), -100)
    return torch.where(mask, words, 0), mask, labels


def classes(model: Any, x: Any, y: Any) -> Any:
    # Draws from Python's and NumPy's generators too.
    chance = random.random() + float(numpy.random.rand())
    return nn.functional.cross_entropy(model(x + 0.0 * chance), y)


def tokens(model: Any, words: Any, mask: Any, labels: Any) -> Any:
    return nn.functional.cross_entropy(model(words, mask).flatten(0, 1), labels.flatten(), ignore_index=-100)


def samples(*batch: Any) -> float:
    return float(len(batch[0]))


def labelled(words: Any, mask: Any, labels: Any) -> float:
    return float((labels != -100).sum())


def adamw(groups: list[dict[str, Any]]) -> Any:
    return torch.optim.AdamW(groups, lr=1e-2, weight_decay=0.1)


def sgd(groups: list[dict[str, Any]]) -> Any:
    return torch.optim.SGD(groups, lr=1e-2, momentum=0.9, nesterov=True)


JOBS = {
    "mlp": Job(Mlp, vectors, classes, samples, adamw),
    "cnn": Job(lambda: Cnn(lambda size: nn.GroupNorm(2, size)), images, classes, samples, sgd),
    "batch-norm": Job(
        lambda: Cnn(nn.BatchNorm2d), images, classes, samples, adamw, {"accept": "batch statistics"}
    ),
    "transformer": Job(Transformer, sentences, tokens, labelled, adamw),
}


class Training:
    """A model, its optimizer with two groups, its schedule and its data, always the same for a job."""

    def __init__(self, job: Job, optimizer: Callable[[list[dict[str, Any]]], Any] | None = None) -> None:
        torch.manual_seed(1)
        random.seed(2)
        numpy.random.seed(3)
        self.job = job
        self.model = job.model()
        weights = [each for each in self.model.parameters() if each.ndim > 1]
        others = [each for each in self.model.parameters() if each.ndim <= 1]
        self.optimizer = (optimizer or job.optimizer)([{"params": weights}, {"params": others, "lr": 3e-2}])
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 2, 0.5)
        generator = torch.Generator().manual_seed(4)
        self.batches = [job.batch(generator) for _ in range(STEPS)]
        self.losses: list[Any] = []
        self.outputs: list[Any] = []

    def after_step(self) -> None:
        nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
        self.optimizer.step()
        self.schedule.step()
        self.optimizer.zero_grad()

    def predict(self, *inputs: Any) -> Any:
        return self.model(*inputs)

    def state(self) -> dict[str, Any]:
        """Everything that must be the same bit for bit."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "torch": torch.get_rng_state(),
            "python": random.getstate(),
            "numpy": list(numpy.random.get_state()),
            "losses": self.losses,
            "outputs": self.outputs,
        }


def with_fit(training: Training, *fail_at: int, accumulate: int = 1, **options: Any) -> tuple[list[int], Failures]:
    """Trains with oomph, with failures; gives into how many parts each batch was cut, the evaluation's last."""
    used: list[int] = []

    def step(*batch: Any) -> Any:
        return training.job.loss(training.model, *batch)

    fit = oomph.fit(step, **{**training.job.options, **options})
    evaluate = oomph.fit(training.predict)
    with Failures(*fail_at) as failures:
        for number, batch in enumerate(training.batches):
            training.losses.append(fit(*batch))
            used.append(fit.used)
            if (number + 1) % accumulate == 0:
                training.after_step()
        training.model.eval()
        with torch.no_grad():
            training.outputs.append(evaluate(*training.batches[0][:-1]))
        used.append(evaluate.used)
        training.model.train()
    return used, failures


def pieces(batch: tuple[Any, ...], parts: int) -> Iterator[tuple[Any, ...]]:
    """The batch in parts, the larger ones first."""
    small, larger = divmod(BATCH, parts)
    start = 0
    for part in range(parts):
        stop = start + small + (part < larger)
        yield tuple(each[start:stop] for each in batch)
        start = stop


def by_hand(training: Training, used: list[int], accumulate: int = 1) -> None:
    """The same training in plain PyTorch, with batches cut into these numbers of parts from the start."""
    for number, (batch, parts) in enumerate(zip(training.batches, used)):
        total = training.job.count(*batch)
        loss: Any = 0.0
        for piece in pieces(batch, parts):
            weight = training.job.count(*piece) / total
            value = training.job.loss(training.model, *piece)
            if parts == 1:
                value.backward()
                loss = value.detach()
            else:
                (value * weight).backward()
                loss = loss + value.detach() * weight
        training.losses.append(loss)
        if (number + 1) % accumulate == 0:
            training.after_step()
    training.model.eval()
    with torch.no_grad():
        outputs = [training.predict(*piece) for piece in pieces(training.batches[0][:-1], used[-1])]
        training.outputs.append(torch.cat(outputs))
    training.model.train()


def differences(one: Any, other: Any, path: str = "") -> list[str]:
    """Where two states differ in any bit."""
    if isinstance(one, torch.Tensor) or isinstance(one, numpy.ndarray):
        same = one.dtype == other.dtype and bool((torch.as_tensor(one) == torch.as_tensor(other)).all())
        return [] if same and one.shape == other.shape else [path]
    if isinstance(one, dict):
        if list(one) != list(other):
            return [f"{path}: {list(one)} {list(other)}"]
        return [found for name in one for found in differences(one[name], other[name], f"{path}.{name}")]
    if isinstance(one, (list, tuple)):
        if len(one) != len(other):
            return [f"{path}: {len(one)} {len(other)}"]
        found = [differences(a, b, f"{path}[{index}]") for index, (a, b) in enumerate(zip(one, other))]
        return [each for several in found for each in several]
    return [] if one == other else [f"{path}: {one!r} {other!r}"]
