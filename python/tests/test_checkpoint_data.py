"""The place in the data: a job that goes on sees the batches that it would have seen, in the same order."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed here")

import oomph  # noqa: E402

torch.set_num_threads(1)
data = torch.utils.data


class Numbers(data.Dataset):  # type: ignore[misc,name-defined]
    """Draws a random number for every item, and counts what is loaded."""

    loaded = 0

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Any:
        Numbers.loaded += 1
        return torch.tensor([float(index), torch.rand(1).item()])


class Stream(data.IterableDataset):  # type: ignore[misc,name-defined]
    def __iter__(self) -> Any:
        return iter(torch.rand(12, 2))


class Eager(data.Sampler):  # type: ignore[misc,name-defined]
    """A sampler that draws when it is begun, not when it is first asked."""

    def __len__(self) -> int:
        return 12

    def __iter__(self) -> Any:
        return iter(torch.randperm(12).tolist())


def seeded() -> Any:
    return torch.Generator().manual_seed(11)


LOADERS: dict[str, Callable[[], Iterable[Any]]] = {
    "list": lambda: list(torch.arange(8).reshape(4, 2).float()),
    "order": lambda: data.DataLoader(Numbers(), batch_size=3),
    "shuffle": lambda: data.DataLoader(Numbers(), batch_size=3, shuffle=True),
    "no batches": lambda: data.DataLoader(Numbers(), batch_size=None, shuffle=True),
    "generator": lambda: data.DataLoader(Numbers(), batch_size=3, shuffle=True, generator=seeded()),
    "own sampler": lambda: data.DataLoader(
        Numbers(), batch_size=3, sampler=data.RandomSampler(range(12), generator=seeded())
    ),
    "weighted": lambda: data.DataLoader(Numbers(), batch_size=3, sampler=data.WeightedRandomSampler([1.0] * 12, 12)),
    "replacement": lambda: data.DataLoader(
        Numbers(), batch_size=3, sampler=data.RandomSampler(range(12), replacement=True)
    ),
    "eager": lambda: data.DataLoader(Numbers(), batch_size=3, sampler=Eager()),
    "stream": lambda: data.DataLoader(Stream(), batch_size=3),
}
WORKERS: dict[str, Callable[[], Iterable[Any]]] = {
    "workers": lambda: data.DataLoader(Numbers(), batch_size=3, shuffle=True, num_workers=2),
    "persistent": lambda: data.DataLoader(
        Numbers(), batch_size=3, shuffle=True, num_workers=2, persistent_workers=True
    ),
    "eager workers": lambda: data.DataLoader(Numbers(), batch_size=3, sampler=Eager(), num_workers=1),
}


def run(
    folder: pathlib.Path, make: Callable[[], Iterable[Any]], until: int = 99, whole: bool = True, replay: bool = False
) -> list[Any]:
    """Three epochs, with a random number drawn in every step, as dropout does. Gives what each step saw; `whole`: with the
    numbers that the data set drew."""
    torch.manual_seed(2)
    loader = make()
    saved = oomph.checkpoint(folder=folder, every=1)
    if saved.steps_done:
        # What a job that goes on draws before its loop begins does not matter.
        torch.rand(7)
    seen = []
    try:
        for epoch in saved.epochs(3):
            for batch in saved.batches(loader, replay=replay):
                batch = batch if whole else batch[:, 0]
                seen.append((saved.steps_done, epoch, batch.tolist(), torch.rand(1).item()))
                if saved.steps_done == until:
                    return seen
                saved.step()
            seen.append(("end", epoch, torch.rand(1).item()))
        return seen
    finally:
        saved.close()


def check(folder: pathlib.Path, make: Callable[[], Iterable[Any]], untils: Iterable[int], **options: Any) -> None:
    expected = run(folder / "whole", make, **options)
    first = expected[0]
    for until in untils:
        place = folder / str(until)
        begun = run(place, make, until, **options)
        rest = run(place, make, **options)
        steps = [row for row in begun if row[0] != until]
        assert begun[0][:2] == first[:2]
        # What stands after a loop over the data is done again where the checkpoint was made in the last step before it.
        if steps and steps[-1][0] == "end":
            steps.pop()
        assert steps + rest == expected, until


@pytest.mark.parametrize("kind", LOADERS)
def test_the_batches_that_are_left_come_in_the_same_order(kind: str, tmp_path: pathlib.Path) -> None:
    check(tmp_path, LOADERS[kind], [0, 1, 2, 4, 5, 11])


@pytest.mark.parametrize("kind", WORKERS)
def test_the_same_with_workers(kind: str, tmp_path: pathlib.Path) -> None:
    check(tmp_path, WORKERS[kind], [1, 6], whole=False)


def test_workers_draw_the_same_numbers_where_batches_are_loaded_again(tmp_path: pathlib.Path) -> None:
    check(tmp_path, WORKERS["workers"], [6], replay=True)


def test_batches_that_are_done_are_not_loaded_again(tmp_path: pathlib.Path) -> None:
    run(tmp_path, LOADERS["shuffle"], until=3)
    Numbers.loaded = 0
    assert len(run(tmp_path, LOADERS["shuffle"], until=3)) == 1
    assert Numbers.loaded == 3


def test_data_that_has_become_shorter_is_said(tmp_path: pathlib.Path) -> None:
    run(tmp_path, lambda: list(torch.rand(8, 2)), until=6)
    with pytest.raises(oomph.OomphError, match="^the data ends after 2 batches, and the checkpoint was made after 6: is it"):
        run(tmp_path, lambda: list(torch.rand(2, 2)))


def test_loops_without_epochs_and_two_loops_in_one(tmp_path: pathlib.Path) -> None:
    def job(until: int) -> list[Any]:
        torch.manual_seed(3)
        first = data.DataLoader(range(6), batch_size=2, shuffle=True)
        second = data.DataLoader(range(10, 14), batch_size=2, shuffle=True)
        saved = oomph.checkpoint(folder=tmp_path / str(until), every=1)
        seen: list[Any] = []
        for _ in range(2):
            for loader in (first, second):
                for batch in saved.batches(loader):
                    if saved.steps_done == until:
                        saved.close()
                        return seen
                    seen.append(batch.tolist())
                    saved.step()
        saved.close()
        return seen

    whole = job(99)
    assert len(whole) == 10
    for until in (1, 3, 4, 5, 7):
        assert job(until) + job(100 * until)[:0] == whole[:until]
        (tmp_path / str(until)).rename(tmp_path / str(until + 50))
        assert job(until + 50) == whole[until:]


def test_steps_and_batches_go_together(tmp_path: pathlib.Path) -> None:
    def job(until: int) -> list[Any]:
        torch.manual_seed(3)
        loader = data.DataLoader(range(8), batch_size=1, shuffle=True)
        saved = oomph.checkpoint(loader, folder=tmp_path, every=2)
        seen = []
        for step, batch in zip(saved.steps(7), saved.batches(), strict=False):
            if step == until:
                break
            seen.append((step, batch.item()))
        saved.close()
        return seen

    begun = job(5)
    rest = job(99)
    assert [step for step, _ in rest] == [4, 5, 6]
    assert rest[0] == begun[4] and len({number for _, number in begun[:4] + rest}) == 7


def test_an_epoch_whose_data_is_read_otherwise_is_saved_when_it_ends(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = oomph.checkpoint(folder=tmp_path, every=1)
    for epoch in saved.epochs(3):
        saved.step()
        saved.wait()
        assert len(list(tmp_path.glob("*.oomph"))) == min(epoch, 2)
        if epoch == 2:
            break
    saved.close()
    assert "waits for the end of the epoch: read the data by saved.batches(loader)" in capsys.readouterr().err
    again = oomph.checkpoint(folder=tmp_path)
    assert (list(again.epochs(4)), again.steps_done) == ([2, 3], 2)
    again.close()


def test_a_loader_that_is_not_read_through_it_is_said(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    with oomph.checkpoint(data.DataLoader(range(4)), folder=tmp_path, every=1) as saved:
        saved.step()
    assert capsys.readouterr().err == (
        "oomph: the place in the data is not saved: the loader is not read by saved.batches(loader)\n"
    )
