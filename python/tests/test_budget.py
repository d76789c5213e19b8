"""`oomph.budget()`: what PyTorch is told, on a made-up card where there is no real one."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

import oomph
from oomph.budget import Budget

TOTAL = 150109880320


class Card:
    """Stands for `torch` with two cards: keeps the fractions, and cuts off as PyTorch does."""

    def __init__(self, can_be_asked: bool) -> None:
        self.fractions = [1.0, 1.0]
        self.cuda = SimpleNamespace(
            init=lambda: None,
            is_available=lambda: True,
            device_count=lambda: 2,
            get_device_properties=lambda n: SimpleNamespace(total_memory=TOTAL, name="NVIDIA H200"),
            set_per_process_memory_fraction=self.set,
        )
        if can_be_asked:
            self.cuda.get_per_process_memory_fraction = lambda n: self.fractions[n]

    def set(self, fraction: float, device: int) -> None:
        assert isinstance(fraction, float) and 0 <= fraction <= 1
        self.fractions[device] = fraction

    def allowed(self) -> list[int]:
        return [int(fraction * TOTAL) for fraction in self.fractions]


@pytest.fixture(params=[True, False], ids=["2.11", "2.4"])
def card(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Card:
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    for noted in ("_noted", "_active", "_before"):
        getattr(sys.modules["oomph.budget"], noted).clear()
    made = Card(request.param)
    monkeypatch.setitem(sys.modules, "torch", made)
    return made


@pytest.mark.parametrize("size", [1, 512, 10**9 + 7, 12 << 30, TOTAL - 1, TOTAL])
def test_a_budget_is_kept_to_the_byte(card: Card, size: int) -> None:
    assert oomph.budget(size).devices == (0, 1)
    assert card.allowed() == [size, size]


def test_budgets_that_overlap_leave_nothing_behind(card: Card) -> None:
    first, second = oomph.budget("4 GiB"), oomph.budget("2 GiB", device=0)
    assert card.allowed() == [2 << 30, 4 << 30]
    first.end()
    assert card.allowed() == [2 << 30, TOTAL]
    second.end()
    assert card.allowed() == [TOTAL, TOTAL]
    first.apply()
    second.apply()
    second.end()
    assert card.allowed() == [4 << 30, 4 << 30]


def test_half_a_byte_is_refused(card: Card) -> None:
    with pytest.raises(oomph.OomphError, match="a whole number of bytes, not 1.5"):
        oomph.budget(1.5)  # type: ignore[arg-type]


def test_a_block_has_its_budget_and_gives_back_the_one_around_it(card: Card) -> None:
    oomph.budget("24 GiB")
    with oomph.budget("12 GiB") as inner:
        assert card.allowed() == [12 << 30] * 2
        with pytest.raises(KeyError), oomph.budget("1 GiB", device=1):
            assert card.allowed() == [12 << 30, 1 << 30]
            raise KeyError
        assert card.allowed() == [12 << 30] * 2
        assert repr(inner) == "<budget of 12.00 GiB on GPU 0, GPU 1>"
    assert card.allowed() == [24 << 30] * 2
    assert inner.devices == ()


def test_a_decorated_function_has_its_budget_in_every_call(card: Card) -> None:
    @oomph.budget("2 GiB")
    def inside(depth: int) -> list[int]:
        """Documented."""
        return card.allowed() if depth == 0 else inside(depth - 1)

    assert card.allowed() == [TOTAL] * 2
    assert inside(0) == inside(2) == [2 << 30] * 2
    assert card.allowed() == [TOTAL] * 2
    assert inside.__doc__ == "Documented."


def test_a_worker_of_torchrun_limits_its_own_card(card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert oomph.budget("2 GiB").devices == (1,)
    monkeypatch.setenv("LOCAL_RANK", "5")
    assert oomph.budget("2 GiB").devices == (0, 1)


@pytest.mark.parametrize(
    ("size", "device", "said"),
    [
        ("12 parsecs", None, "`12 parsecs` is not a size: write a number and a unit, such as 12GiB, 512MiB or 1073741824"),
        ("0 GiB", None, "a budget of nothing lets nothing run: name a size, such as 12 GiB"),
        (-1, None, "a budget of nothing lets nothing run: name a size, such as 12 GiB"),
        ("1 TiB", None, "a budget of 1024.00 GiB is more than GPU 0 has (139.80 GiB, NVIDIA H200)"),
        ("1 GiB", 2, "there is no GPU 2: this process sees 2"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(card: Card, size: str | int, device: int | None, said: str) -> None:
    with pytest.raises(oomph.OomphError) as error:
        oomph.budget(size, device)
    assert str(error.value) == said
    assert card.allowed() == [TOTAL] * 2


def test_without_torch_or_without_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with pytest.raises(oomph.OomphError, match="torch is not imported: import torch first"):
        oomph.budget("1 GiB")
    none = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    monkeypatch.setitem(sys.modules, "torch", none)
    with pytest.warns(RuntimeWarning, match="no CUDA device here: the budget limits nothing") as warned:
        assert oomph.budget("1 GiB").devices == ()
    assert warned[0].filename == __file__


@pytest.mark.gpu
def test_a_budget_is_what_a_real_card_gives() -> None:
    import torch

    oomph.free(verbose=False)
    with oomph.budget("2 GiB") as limit:
        assert isinstance(limit, Budget)
        with pytest.raises(torch.OutOfMemoryError, match="2.00 GiB allowed"):
            torch.empty(3 << 30, dtype=torch.uint8, device="cuda")
        assert torch.empty(1 << 30, dtype=torch.uint8, device="cuda").is_cuda
    assert torch.empty(3 << 30, dtype=torch.uint8, device="cuda").is_cuda
