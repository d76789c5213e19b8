"""The loss in chunks: it is the same loss, with the same gradients, and calls that are not plain are left alone."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from oomph._measures import Measures, loss
from programs import Programs

MIB = 1 << 20


@pytest.fixture
def chunked(torch: ModuleType) -> Iterator[loss.Losses]:
    """`cross_entropy` in chunks, of tensors of any size on the CPU."""
    functional = torch.nn.functional
    original = functional.cross_entropy
    yield loss.Losses(torch, {}, chunks=True, device="cpu", smallest=0)
    functional.cross_entropy = original


def plain(torch: ModuleType) -> Any:
    return torch.nn.functional.cross_entropy.__wrapped__


def both(torch: ModuleType, dtype: Any, seed: int, **options: Any) -> tuple[list[Any], list[Any]]:
    """Loss and gradient, PyTorch's and ours, of 1000 rows of 77 classes, every seventh of which is ignored."""
    torch.manual_seed(seed)
    values = (torch.randn(1000, 77) * 8).to(dtype)
    target = torch.randint(0, 77, (1000,))
    target[::7] = options.get("ignore_index", -100)
    found = []
    for function in (plain(torch), torch.nn.functional.cross_entropy):
        logits = values.clone().requires_grad_()
        value = function(logits, target, **options)
        (value * 3).backward()
        found.append([value.detach(), logits.grad])
    return found[0], found[1]


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.1}, {"ignore_index": 5}, {"ignore_index": 9999}])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_the_loss_is_the_same_up_to_rounding(
    torch: ModuleType, chunked: loss.Losses, reduction: str, options: dict[str, Any], dtype: str
) -> None:
    (value, grad), (same, same_grad) = both(torch, getattr(torch, dtype), 1, reduction=reduction, **options)
    assert (chunked.chunked, same.dtype, same_grad.dtype) == (1, value.dtype, grad.dtype)
    # PyTorch rounds half precision at every step; ours only at the end.
    relative, absolute = {"float32": (1e-6, 1e-6), "float64": (1e-14, 1e-14), "bfloat16": (2e-2, 2e-2)}[dtype]
    torch.testing.assert_close(same, value, rtol=relative, atol=absolute)
    torch.testing.assert_close(same_grad, grad, rtol=relative, atol=absolute)


def test_many_chunks_are_one_chunk(torch: ModuleType) -> None:
    torch.manual_seed(0)
    target = torch.randint(0, 50, (333,))
    results = []
    for chunk in (50 * 4 * 10, 1, 1 << 30):
        logits = torch.randn(333, 50, generator=torch.Generator().manual_seed(1)).requires_grad_()
        value = loss.in_chunks(torch, None, chunk)(logits, target, -100, "mean", 0.0)
        value.backward()
        results.append((value.item(), logits.grad))
    assert results[0][0] == results[1][0] == results[2][0]
    assert torch.equal(results[0][1], results[1][1]) and torch.equal(results[0][1], results[2][1])


def test_rows_that_are_all_ignored_are_no_number_and_have_no_gradient(
    torch: ModuleType, chunked: loss.Losses
) -> None:
    logits = torch.randn(4, 3).requires_grad_()
    value = torch.nn.functional.cross_entropy(logits, torch.full((4,), -100))
    value.backward()
    assert chunked.chunked == 1 and value.isnan() and torch.equal(logits.grad, torch.zeros(4, 3))


def test_a_gradient_of_the_gradient_is_pytorchs(torch: ModuleType, chunked: loss.Losses) -> None:
    values, target = torch.randn(9, 5, dtype=torch.double), torch.randint(0, 5, (9,))
    found = []
    for function in (plain(torch), torch.nn.functional.cross_entropy):
        logits = values.clone().requires_grad_()
        (grad,) = torch.autograd.grad(function(logits, target), logits, create_graph=True)
        grad.square().sum().backward()
        found.append(logits.grad)
    assert chunked.chunked == 1 and torch.allclose(*found, rtol=0, atol=1e-15)


def test_autocast_has_its_loss_in_full_precision(torch: ModuleType, chunked: loss.Losses) -> None:
    values, target = torch.randn(64, 33).bfloat16(), torch.randint(0, 33, (64,))
    found = []
    for function in (plain(torch), torch.nn.functional.cross_entropy):
        logits = values.clone().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16):
            value = function(logits.float() if function is plain(torch) else logits, target)
        value.backward()
        found.append((value, logits.grad))
    (value, grad), (same, same_grad) = found
    assert (same.dtype, same_grad.dtype) == (torch.float32, torch.bfloat16)
    torch.testing.assert_close(same, value, rtol=1e-6, atol=1e-6)
    assert torch.equal(same_grad, grad), "rounded once, as PyTorch rounds the gradient of what was cast"


def test_calls_that_are_not_plain_are_left_alone(torch: ModuleType, chunked: loss.Losses) -> None:
    functional = torch.nn.functional
    logits, target = torch.randn(8, 4).requires_grad_(), torch.randint(0, 4, (8,))
    functional.cross_entropy(logits, target, weight=torch.ones(4))
    functional.cross_entropy(logits, target, reduction="none")
    functional.cross_entropy(logits, torch.rand(8, 4))
    functional.cross_entropy(logits.view(2, 4, 4), target.view(2, 4))
    functional.cross_entropy(logits[0], target[0])
    functional.cross_entropy(logits.detach(), target)
    torch.func.grad(functional.cross_entropy)(logits, target)
    with torch.no_grad():
        functional.cross_entropy(logits, target)
    assert chunked.chunked == 0
    torch.nn.CrossEntropyLoss()(logits, target)
    assert chunked.chunked == 1


def test_wrong_calls_fail_as_they_did(torch: ModuleType, chunked: loss.Losses) -> None:
    logits = torch.randn(8, 4).requires_grad_()
    with pytest.raises(ValueError, match="Expected input batch_size"):
        torch.nn.functional.cross_entropy(logits, torch.zeros(7, dtype=torch.long))
    with pytest.raises((IndexError, RuntimeError), match="out of bounds"):
        torch.nn.functional.cross_entropy(logits, torch.full((8,), 4))


def test_where_no_loss_is_large_that_is_said(run_warm_python: Callable[..., str], torch: ModuleType) -> None:
    source = """
        import json, torch
        from oomph._measures import Measures
        measures = Measures({"loss": "chunks"})
        measures.at_torch(torch)
        torch.nn.functional.cross_entropy(torch.randn(8, 4).requires_grad_(), torch.zeros(8, dtype=torch.long))
        print(json.dumps(measures.notes()))
    """
    notes = run_warm_python(textwrap.dedent(source))
    assert '"not changed: no plain loss on large logits was computed"' in notes
    assert Measures({}).notes() == {"remarks": []}


# Logits of 256 MiB in float32.
SCRIPT = """
    import torch
    table = torch.nn.Parameter(torch.zeros({rows}, 32768, dtype=torch.{dtype}, device="cuda"))
    target = torch.zeros({rows}, dtype=torch.long, device="cuda")
    optimizer = torch.optim.SGD([table], lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        logits = table * 1
        torch.cuda.reset_peak_memory_stats()
        loss = torch.nn.functional.cross_entropy(logits{upcast}, target)
        forward = torch.cuda.max_memory_allocated()
        loss.backward()
        backward = torch.cuda.max_memory_allocated()
    size = logits.numel() * 4
    print(round(forward / size, 2), round(backward / size, 2))
"""


@pytest.mark.parametrize(
    ("dtype", "upcast", "without", "with_chunks"),
    [
        # The table and its logits; then the log-softmax, its gradient and the logits', or the logits' and the table's.
        ("float32", "", "3.0 5.0", "2.13 4.0"),
        # Both in halves and a copy in full; then the same, or the copy's gradient alone.
        ("bfloat16", ".float()", "3.0 4.0", "2.13 3.13"),
    ],
)
def test_the_log_softmax_is_not_kept(
    programs: Programs, dtype: str, upcast: str, without: str, with_chunks: str
) -> None:
    source = textwrap.dedent(SCRIPT).format(rows=2048, dtype=dtype, upcast=upcast)
    begin = "import torch\nfrom oomph._measures import Measures\nMeasures({}).at_torch(torch)\n"
    words = [begin.format("{}") + source, begin.format("{'loss': 'chunks'}") + source]
    said = [programs.end(programs.start([programs.warm_python, "-c", word])).stdout.strip() for word in words]
    assert said == [without, with_chunks]
