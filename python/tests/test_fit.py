"""`oomph.fit`: how it is called, what it refuses, and what it learns."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed here")

import torch
from fit_jobs import out_of_memory
from torch import nn

import oomph

torch.set_num_threads(1)


class Memory:
    """Room for so many samples at once."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.sizes: list[int] = []

    def take(self, size: int) -> None:
        self.sizes.append(size)
        if size > self.room:
            raise out_of_memory()

    def since(self) -> list[int]:
        """The sizes that were tried since this was last asked."""
        sizes, self.sizes = self.sizes, []
        return sizes


@pytest.fixture
def layer() -> Any:
    torch.manual_seed(0)
    return nn.Linear(3, 2)


def stepping(layer: Any, memory: Memory) -> Callable[[Any], Any]:
    def step(x: Any) -> Any:
        memory.take(len(x))
        return layer(x).square().mean()

    return step


def by_hand(layer: Any, x: Any) -> list[Any]:
    """The gradients of the whole batch."""
    return list(torch.autograd.grad(layer(x).square().mean(), list(layer.parameters())))


def is_close(layer: Any, expected: list[Any]) -> bool:
    return all(torch.allclose(each.grad, want, atol=1e-6) for each, want in zip(layer.parameters(), expected))


def test_as_a_decorator_a_call_and_a_context(layer: Any) -> None:
    x = torch.randn(8, 3)
    expected, loss = by_hand(layer, x), float(layer(x).square().mean().detach())

    @oomph.fit
    def plain(x: Any) -> Any:
        return layer(x).square().mean()

    @oomph.fit(model=layer, count="samples", parts=3)
    def with_options(x: Any) -> Any:
        return layer(x).square().mean()

    def step(x: Any) -> Any:
        return layer(x).square().mean()

    with oomph.fit(model=layer, count="samples") as fit:
        for run in (plain, with_options, oomph.fit(step), lambda x: fit(step, x), lambda x: fit(step, x=x)):
            layer.zero_grad()
            found = run(x)
            assert is_close(layer, expected)
            assert not found.requires_grad and float(found) == pytest.approx(loss, rel=1e-6)
    assert with_options.used == 3 and with_options.__name__ == "with_options"


def test_as_a_method() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.layer = nn.Linear(3, 2)
            # Its own tensors are no batch.
            self.scale = torch.ones(5)

        @oomph.fit(count="samples")
        def step(self, x: Any) -> Any:
            if len(x) > 4:
                raise out_of_memory()
            return self.layer(x).square().mean()

    one, other = Trainer(), Trainer()
    x = torch.randn(6, 3)
    for trainer in (one, other):
        trainer.step(x)
        assert is_close(trainer.layer, by_hand(trainer.layer, x))
    gone = weakref.ref(one)
    del one, trainer
    gc.collect()
    assert gone() is None


def test_it_learns_what_fits_and_grows_back(layer: Any) -> None:
    memory = Memory(11)
    fit = oomph.fit(stepping(layer, memory), count="samples")
    x = torch.randn(32, 3)
    fit(x)
    assert memory.since() == [32, 16, 8, 8, 8, 8]
    fit(x)
    # It is cut beforehand.
    assert memory.since() == [8, 8, 8, 8]
    tried = []
    for _ in range(200):
        fit(x)
        tried.append(tuple(memory.since()))
    # Parts of 11 fit: three of them do, and none fails any more than now and then.
    assert tried[-1] == (11, 11, 10)
    assert sum(max(sizes) > 11 for sizes in tried) <= 5
    memory.room = 100
    for _ in range(3000):
        fit(x)
        if memory.since() == [32]:
            break
    else:
        pytest.fail("it did not grow back")


def test_what_does_not_fit_for_short_samples_does_not_for_longer_ones() -> None:
    embedding, tried = nn.Embedding(5, 2), []

    @oomph.fit(count="samples")
    def step(words: Any) -> Any:
        tried.append(tuple(words.shape))
        if words.numel() > 40:
            raise out_of_memory()
        return embedding(words).square().mean()

    step(torch.zeros(8, 10, dtype=torch.long))
    assert tried == [(8, 10), (4, 10), (4, 10)]
    tried.clear()
    step(torch.zeros(8, 20, dtype=torch.long))
    assert tried == [(2, 20)] * 4
    tried.clear()
    # Of shorter ones nothing is known.
    step(torch.zeros(8, 5, dtype=torch.long))
    assert tried == [(8, 5)]


def test_one_sample_that_does_not_fit_is_the_original_error(layer: Any) -> None:
    memory = Memory(0)
    with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate 2.00 MiB") as raised:
        oomph.fit(stepping(layer, memory), count="samples")(torch.randn(4, 3))
    assert raised.value.__notes__ == ["oomph.fit: one sample at a time does not fit either"]
    assert memory.sizes == [4, 2, 1, 1]
    assert layer.weight.grad is None


def check_note(step: Callable[..., Any], *batch: Any, note: str, **options: Any) -> None:
    with pytest.raises(torch.OutOfMemoryError) as raised:
        oomph.fit(step, **options)(*batch)
    assert raised.value.__notes__ == [f"oomph.fit: {note}"]


def test_batch_statistics_are_refused_unless_they_are_accepted() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    memory = Memory(4)
    step = stepping(model, memory)
    check_note(
        step,
        torch.randn(6, 3),
        model=model,
        note="BatchNorm1d takes statistics of the batch, which parts change: "
        'oomph.fit(accept="batch statistics") allows it, .eval() of the module avoids it',
    )
    oomph.fit(step, accept="batch statistics")(torch.randn(6, 3))
    model.eval()
    oomph.fit(step)(torch.randn(6, 3))


def test_hooks_that_would_run_for_every_part_are_refused() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    model[0].weight.register_post_accumulate_grad_hook(lambda parameter: None)
    check_note(
        stepping(model, Memory(4)),
        torch.randn(6, 3),
        model=model,
        accept="batch statistics",
        note="a hook runs after each gradient is accumulated, and would run for every part: remove it",
    )


def test_what_cannot_be_cut_is_named(layer: Any) -> None:
    memory = Memory(0)

    def step(x: Any, weights: Any = None) -> Any:
        memory.take(1)

    class Graph:
        def __init__(self) -> None:
            self.nodes = torch.ones(3)

    check_note(
        step,
        torch.randn(4, 3),
        torch.ones(2),
        note="arguments have different lengths (2, 4); name those to cut: oomph.fit(split=[...])",
    )
    check_note(step, 5, note="no batch among the arguments; pass it to the step as tensors")
    check_note(step, Graph(), note="a Graph cannot be cut; name what can: oomph.fit(split=[...])")
    check_note(step, torch.randn(1, 3), note="one sample alone does not fit; it cannot be cut further")


def test_parts_that_are_asked_for_of_what_cannot_be_cut_are_an_error(layer: Any) -> None:
    with pytest.raises(ValueError, match=r"^oomph.fit: arguments have different lengths \(2, 4\); name those to cut: "):
        oomph.fit(lambda x, y: layer(x).mean(), parts=2)(torch.randn(4, 3), torch.ones(2))


def test_split_names_what_is_cut(layer: Any) -> None:
    seen = []

    def step(x: Any, weights: Any, *, names: Any) -> Any:
        seen.append((len(x), len(weights), names))
        return (layer(x) * weights).square().mean()

    fit = oomph.fit(step, split=[0, "names"], count="samples", parts=2)
    fit(torch.randn(3, 3), torch.ones(2), names=["a", "b", "c"])
    assert seen == [(2, 2, ["a", "b"]), (1, 2, ["c"])]


def test_lists_of_samples_are_cut_as_detectors_take_them(layer: Any) -> None:
    images = [torch.randn(3) for _ in range(5)]
    targets = [{"boxes": torch.randn(number, 4)} for number in (3, 1, 2, 0, 4)]
    seen = []

    def step(images: Any, targets: Any) -> Any:
        seen.append([len(target["boxes"]) for target in targets])
        return layer(torch.stack(images)).square().mean()

    layer.zero_grad()
    oomph.fit(step, parts=2)(images, targets)
    assert seen[-2:] == [[3, 1, 2], [0, 4]]
    assert is_close(layer, by_hand(layer, torch.stack(images)))


@pytest.mark.parametrize("inside", ["optimizer", "schedule", "scaler"])
def test_what_may_only_run_once_is_refused_inside_a_step(layer: Any, inside: str) -> None:
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    scaler = torch.amp.GradScaler("cpu")

    def step(x: Any) -> Any:
        layer(x).square().mean().backward()
        if inside == "optimizer":
            optimizer.step()
        elif inside == "schedule":
            schedule.step()
        else:
            scaler.update()

    name = {"optimizer": "SGD.step", "schedule": "StepLR.step", "scaler": "GradScaler.update"}[inside]
    with pytest.raises(TypeError) as raised:
        oomph.fit(step)(torch.randn(4, 3))
    assert str(raised.value) == f"{name}() inside a step of oomph.fit would run once for every part: move it after the step"
    # Outside of a step nothing is refused.
    optimizer.step()


def test_zero_grad_inside_a_step_runs_in_the_first_part(layer: Any) -> None:
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    x = torch.randn(6, 3)
    for clear in (optimizer.zero_grad, layer.zero_grad, lambda: optimizer.zero_grad(set_to_none=False)):

        def step(x: Any) -> Any:
            clear()
            return layer(x).square().mean()

        fit = oomph.fit(step, count="samples")
        for fit.parts in (1, 3):
            for each in layer.parameters():
                each.grad = torch.full_like(each, 5.0)
            fit(x)
            assert is_close(layer, by_hand(layer, x))


def test_an_error_of_the_step_itself_leaves_the_gradients_of_earlier_steps(layer: Any) -> None:
    layer(torch.randn(2, 3)).sum().backward()
    before = layer.weight.grad.clone()

    def step(x: Any) -> Any:
        layer(x).sum().backward()
        raise KeyError("a mistake")

    with pytest.raises(KeyError, match="a mistake"):
        oomph.fit(step)(torch.randn(4, 3))
    assert torch.equal(layer.weight.grad, before)


def test_the_frames_of_a_failure_are_dropped_before_the_repeat(layer: Any) -> None:
    alive: list[Any] = []

    def inner(x: Any) -> None:
        activations = torch.ones(3)
        alive.append(weakref.ref(activations))
        if len(x) > 2:
            raise out_of_memory()

    def step(x: Any) -> Any:
        if alive:
            assert all(each() is None for each in alive)
        inner(x)
        return layer(x).mean()

    oomph.fit(step, count="samples")(torch.randn(4, 3))
    assert len(alive) == 3


def test_objects_of_keep_are_put_back(layer: Any) -> None:
    generator = torch.Generator().manual_seed(3)
    drawn = []

    class Counter:
        def __init__(self) -> None:
            self.value = 0

        def state_dict(self) -> dict[str, int]:
            return {"value": self.value}

        def load_state_dict(self, state: dict[str, int]) -> None:
            self.value = state["value"]

    counter = Counter()

    def step(x: Any) -> Any:
        counter.value += len(x)
        drawn.append(float(torch.rand(1, generator=generator)))
        if len(x) > 4:
            raise out_of_memory()
        return layer(x).mean()

    oomph.fit(step, keep=[counter, generator], count="samples")(torch.randn(8, 3))
    assert counter.value == 8
    assert drawn[0] == drawn[1] != drawn[2]
    said = "^keep=: a int has no state_dict and load_state_dict; give it both, or leave it out$"
    with pytest.raises(TypeError, match=said):
        oomph.fit(step, keep=[3])(torch.randn(8, 3))


def test_evaluation_gives_all_results_in_order(layer: Any) -> None:
    memory = Memory(4)
    x = torch.randn(10, 3)

    @oomph.fit
    def evaluate(x: Any, names: list[str]) -> Any:
        memory.take(len(x))
        scores = layer(x)
        return {"scores": scores, "names": names, "loss": scores.square().mean(), "positive": int((scores > 0).sum())}

    with torch.no_grad():
        names = [f"sample {number}" for number in range(10)]
        found = evaluate(x, names)
        scores = layer(x)
    assert evaluate.used == 4
    assert torch.allclose(found["scores"], scores) and found["names"] == names
    assert float(found["loss"]) == pytest.approx(float(scores.square().mean()), rel=1e-6)
    assert found["positive"] == int((scores > 0).sum())


def test_generation_draws_the_same_numbers_and_joins_by_a_function() -> None:
    """Texts of different lengths need a function to be put together."""
    memory = Memory(3)

    def generate(prompts: Any) -> Any:
        memory.take(len(prompts))
        return torch.cat([prompts, torch.randint(0, 9, (len(prompts), int(prompts.max())))], 1)

    def padded(parts: list[Any]) -> Any:
        return nn.utils.rnn.pad_sequence([row for part in parts for row in part], batch_first=True)

    prompts = torch.tensor([[1], [2], [3], [4], [5]])
    torch.manual_seed(0)
    with torch.inference_mode():
        found = oomph.fit(generate, gather=padded)(prompts)
        torch.manual_seed(0)
        expected = padded([generate(prompts[:3]), generate(prompts[3:])])
        assert torch.equal(found, expected)
        check_note(
            generate, prompts, note="results of the parts have different shapes; pass gather=, a function of their list"
        )


def test_buffers_that_change_are_put_back() -> None:
    class Counting(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 2)
            self.register_buffer("seen", torch.zeros(()))
            self.register_buffer("mean", torch.zeros(3))
            self.late = False

        def forward(self, x: Any) -> Any:
            self.seen += len(x)
            if self.late:
                self.mean.add_(1.0)
            if len(x) > room:
                raise out_of_memory()
            return self.layer(x)

    room, model = 100, Counting()
    fit = oomph.fit(lambda x: model(x).mean(), count="samples")
    fit(torch.randn(6, 3))
    room = 4
    fit(torch.randn(6, 3))
    assert float(model.seen) == 12
    room, model.late = 2, True
    with pytest.raises(torch.OutOfMemoryError) as raised:
        fit(torch.randn(6, 3))
    assert raised.value.__notes__ == [
        "oomph.fit: the buffer 'mean' changed for the first time in this step and cannot be put back"
    ]


def test_options_that_mean_nothing_say_what_is_allowed(layer: Any) -> None:
    with pytest.raises(ValueError, match='^count= is "samples", "tokens", "sum" or a function of the batch, not 3$'):
        oomph.fit(count=3)
    with pytest.raises(ValueError, match='^accept= knows "batch statistics", not \'anything\'$'):
        oomph.fit(accept="anything")
    with pytest.raises(ValueError, match="^parts= is a whole number from 1 on, or None, not 0$"):
        oomph.fit(parts=0)
    with pytest.raises(TypeError, match="^oomph.fit takes the function that computes the loss of a batch, not 3$"):
        oomph.fit(3)
    with pytest.raises(TypeError, match=r"^call it with the step and its batch: fit\(step, batch\)$"):
        oomph.fit()(torch.ones(2))


def test_a_schedule_and_hooks_do_not_notice_the_update_in_chunks(layer: Any) -> None:
    """With a schedule made before and after, two groups, hooks, and a closure."""
    told: list[Any] = []

    def train(with_oomph: bool) -> Any:
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        optimizer = torch.optim.Adam(
            [{"params": model[0].parameters()}, {"params": model[1].parameters(), "lr": 1e-2, "betas": (0.5, 0.9)}]
        )
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        optimizer.register_step_pre_hook(lambda opt, args, kwargs: told.append([len(g["params"]) for g in opt.param_groups]))
        optimizer.register_step_post_hook(lambda opt, args, kwargs: told.append([len(g["params"]) for g in opt.param_groups]))
        fit = oomph.fit(lambda x: model(x).square().mean(), optimizer=optimizer) if with_oomph else None
        rates = []
        for number in range(3):
            x = torch.randn(4, 3, generator=torch.Generator().manual_seed(number))

            def closure() -> Any:
                optimizer.zero_grad()
                if fit is not None:
                    return fit(x)
                loss = model(x).square().mean()
                loss.backward()
                return loss

            told.append(float(optimizer.step(closure).detach()))
            schedule.step()
            rates.append(schedule.get_last_lr())
        return [each.detach() for each in model.parameters()], rates, optimizer.state_dict()

    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, rates, state = train(True)
    said = told.copy()
    told.clear()
    expected, expected_rates, expected_state = train(False)
    assert all(torch.equal(one, other) for one, other in zip(found, expected))
    assert rates == expected_rates and said == told
    assert str(state) == str(expected_state)


def test_random_numbers_of_python_are_drawn_again(layer: Any) -> None:
    drawn = []

    def step(x: Any) -> Any:
        drawn.append(random.random())
        if len(x) > 2:
            raise out_of_memory()
        return layer(x).mean()

    oomph.fit(step, count="samples")(torch.randn(4, 3))
    assert drawn[0] == drawn[1] != drawn[2]
