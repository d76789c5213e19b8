"""Saved activations on the host: the backward pass finds what was saved, bit for bit."""

from __future__ import annotations

import gc
import textwrap
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from oomph._measures import checkpointing, host_activations
from programs import Programs

Make = Callable[..., host_activations.Activations]


@pytest.fixture
def on_host(torch: ModuleType) -> Iterator[Make]:
    """Activations of 256 bytes and more of modules on the CPU, with a window of some of them."""
    module = torch.nn.modules.module
    had = [dict(module._global_forward_pre_hooks), dict(module._global_forward_hooks)]
    had_always = dict(module._global_forward_hooks_always_called)

    def make(share: tuple[int, int] = (8, 8), window: int = 4096) -> host_activations.Activations:
        return host_activations.Activations(torch, share, device="cpu", smallest=256, window=window)

    yield make
    for hooks, before in zip([module._global_forward_pre_hooks, module._global_forward_hooks], had, strict=True):
        hooks.clear()
        hooks.update(before)
    module._global_forward_hooks_always_called.clear()
    module._global_forward_hooks_always_called.update(had_always)


def model(torch: ModuleType) -> Any:
    """Blocks that save what is hard to save: views of one memory, outputs, masks, in-place operations."""
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(16)
            self.three = nn.Linear(16, 48)
            self.out = nn.Linear(16, 16)
            self.drop = nn.Dropout(0.2)

        def forward(self, x: Any) -> Any:
            q, k, v = self.three(self.norm(x)).view(4, 8, 3, 2, 8).permute(2, 0, 3, 1, 4)
            y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
            y = self.out(y.transpose(1, 2).reshape(4, 8, 16)).relu_()
            return x + self.drop(torch.sigmoid(y).mul(y.exp()).expand(4, 8, 16))

    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(16, 16), *[Block() for _ in range(5)], nn.Linear(16, 3))


def trained(torch: ModuleType, checkpointed: int = 0, twice: bool = False) -> tuple[list[Any], list[float]]:
    """The weights after three steps, and the losses."""
    made = model(torch)
    if checkpointed:
        checkpointing.checkpoint(torch, made, checkpointed / 5)
    optimizer = torch.optim.AdamW(made.parameters(), lr=0.01)
    torch.manual_seed(2)
    losses = []
    for _ in range(3):
        loss = made(torch.randn(4, 8, 16)).square().mean()
        loss.backward(retain_graph=twice)
        if twice:
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return list(made.parameters()), losses


@pytest.mark.parametrize("share", [(8, 8), (4, 8), (2, 8)])
@pytest.mark.parametrize("window", [0, 4096, 1 << 30])
@pytest.mark.parametrize(("checkpointed", "twice"), [(0, False), (0, True), (3, False), (5, False)])
def test_the_backward_pass_is_the_same_bit_for_bit(
    torch: ModuleType, on_host: Make, share: tuple[int, int], window: int, checkpointed: int, twice: bool
) -> None:
    want, losses = trained(torch, checkpointed, twice)
    moved = on_host(share, window)
    made, same = trained(torch, checkpointed, twice)
    assert same == losses
    assert all(torch.equal(one, other) for one, other in zip(made, want, strict=True))
    assert moved.moved > 0


def test_memory_of_the_host_is_used_again_in_every_step(torch: ModuleType, on_host: Make) -> None:
    moved = on_host()
    counts = []
    made = model(torch)
    for _ in range(3):
        made(torch.randn(4, 8, 16)).sum().backward()
        gc.collect()
        assert moved._shelf is not None
        counts.append(sum(map(len, moved._shelf.free.values())))
    assert counts[0] > 10 and counts == counts[:1] * 3


def test_a_forward_pass_that_is_dropped_leaves_nothing(torch: ModuleType, on_host: Make) -> None:
    moved = on_host()
    model(torch)(torch.randn(4, 8, 16))
    gc.collect()
    assert moved._shelf is not None
    assert all(found() is None for found in moved._shelf._leaving.values())


def test_evaluation_and_what_is_computed_again_save_nothing(torch: ModuleType, on_host: Make) -> None:
    moved = on_host()
    made = model(torch)
    made.eval()
    made(torch.randn(4, 8, 16))
    made.train()
    with torch.no_grad():
        made(torch.randn(4, 8, 16))
    assert moved.moved == 0
    checkpointing.checkpoint(torch, made, 1.0)
    loss = made(torch.randn(4, 8, 16)).sum()
    before = moved.moved
    loss.backward()
    # Each block's input, and what the first and the last layer save.
    assert (before, moved.moved) == (7, 7)


@pytest.mark.parametrize("window", [0, 1 << 30])
@pytest.mark.parametrize("share", [(8, 8), (0, 8)])
def test_what_is_changed_in_place_is_an_error_or_as_it_was(
    torch: ModuleType, on_host: Make, share: tuple[int, int], window: int
) -> None:
    nn = torch.nn

    class Changes(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(64, 64))

        def forward(self, x: Any) -> Any:
            y = x * 2
            z = y * self.weight
            w = z.sin()
            y.add_(1)
            return w

    on_host(share, window)
    made = Changes()
    if (share, window) == ((8, 8), 0):
        # What was saved had left the card when it was changed.
        made(torch.ones(64, 64)).sum().backward()
        assert torch.equal(made.weight.grad, torch.full((64, 64), 2.0).cos() * 2)
        return
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        made(torch.ones(64, 64)).sum().backward()


def test_parameters_and_small_parts_of_memory_stay(torch: ModuleType, on_host: Make) -> None:
    moved = on_host()

    class Part(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(64, 64))

        def forward(self, x: Any) -> Any:
            return (self.weight.t() * x[:64]).sum()

    made = Part()
    made(torch.ones(64 * 100, 64)).backward()
    assert moved.moved == 0


# 12 blocks that save 32 MiB each, and weights that are small beside them.
SCRIPT = """
    import torch
    from oomph._measures import Measures
    measures = Measures({asked})
    measures.at_torch(torch)

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(1 << 16))
            self.inner = torch.nn.Tanh()
        def forward(self, x):
            return self.inner(torch.sin(x * self.scale))

    model = torch.nn.Sequential(*[Block() for _ in range(12)]).to("cuda")
    optimizer = torch.optim.SGD(model.parameters())
    for step in range(4):
        model(torch.ones(64, 1 << 16, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    print(round(torch.cuda.memory_allocated() >> 20), round(torch.cuda.max_memory_allocated() >> 20))
    print(measures.notes()["remarks"])
"""


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        ("{}", "3 435\n[]"),
        # Of 24 tensors of 16 MiB the four that go or come are there, and one that is used.
        ("{'host_activations': [8, 8]}", "3 133\n[]"),
        ("{'host_activations': [4, 8]}", "3 323\n[]"),
        # What a block computes again stays.
        ("{'host_activations': [8, 8], 'checkpointing': [12, 12]}", "3 148\n[]"),
    ],
)
def test_the_card_has_a_window_of_activations(programs: Programs, asked: str, want: str) -> None:
    done = programs.end(programs.start([programs.warm_python, "-c", textwrap.dedent(SCRIPT).format(asked=asked)]))
    assert (done.stdout.strip(), done.code) == (want, 0), done.stderr
