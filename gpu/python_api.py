"""Checks on a real GPU what the Python package says of it: free, budget, the limit of the pytest mark, holders, figures.

    python3 gpu/python_api.py

prints a table, and fails at the end if a row does. It needs torch and the installed package, not pytest or IPython; what
they add is checked too where they are installed.
"""

import gc
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import time

import torch

import oomph
from oomph import _holders, _peak, callbacks

MIB = 1 << 20
ROWS: list[tuple[str, object, object, bool]] = []


def check(what: str, expected: object, found: object) -> None:
    ROWS.append((what, expected, found, expected == found))


def taken(size: int) -> torch.Tensor:
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def failing_step() -> None:
    kept = taken(256 * MIB)
    taken(1 << 50)
    assert kept is not None


def free_after_a_failure() -> None:
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    try:
        failing_step()
    except torch.OutOfMemoryError as error:
        sys.last_value = error
    check("held by the last exception", 256 * MIB, torch.cuda.memory_allocated() - before)
    freed = oomph.free()
    check("free: by dropping it", 256 * MIB, freed.stages[0].allocated)
    check("free: in use after it", before, torch.cuda.memory_allocated())
    check("free: given back", True, freed.reserved >= 256 * MIB)
    gc.disable()
    cycle: list[object] = [taken(64 * MIB)]
    cycle.append(cycle)
    del cycle
    freed = oomph.free(verbose=False)
    gc.enable()
    check("free: by collecting cycles", 64 * MIB, freed.stages[2].allocated)
    try:
        failing_step()
    except torch.OutOfMemoryError:
        inside = oomph.free(verbose=False)
    check("free: inside `except`", 256 * MIB, inside.stages[0].allocated)


def workspaces() -> None:
    try:
        torch.ones(512, 512, device="cuda") @ torch.ones(512, 512, device="cuda")
    except RuntimeError as error:
        print(f"cuBLAS does not work here, its workspaces were not tried: {error}")
        return
    freed = oomph.free(verbose=False, workspaces=True)
    check("free: cuBLAS workspaces", True, freed.stages[3].allocated > 0)


class Scale(torch.nn.Module):
    """A layer that needs no library."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1024, 1024))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


def holders() -> None:
    main = sys.modules["__main__"]
    model = torch.nn.Sequential(*(Scale() for _ in range(8))).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    losses = []
    for _ in range(3):
        loss = model(torch.ones(1024, 1024, device="cuda")).pow(2)
        losses.append(loss)
        loss.sum().backward()
        optimizer.step()
    for name, value in {"model": model, "optimizer": optimizer, "losses": losses}.items():
        setattr(main, name, value)
    weights = sum(p.untyped_storage().nbytes() for p in model.parameters())
    states = sum(v.untyped_storage().nbytes() for s in optimizer.state.values() for v in s.values() if v.is_cuda)
    del loss, model, optimizer, losses, value
    start = time.perf_counter()
    held = _holders.find(torch)
    seconds = time.perf_counter() - start
    found = {holder.path: holder.bytes for holder in held.holders}
    check("holders: model", weights, found.get("model"))
    check("holders: gradients", weights, found.get("model, gradients"))
    check("holders: optimizer", states, found.get("optimizer"))
    check("holders: losses", 3 * 4 * MIB, found.get("losses"))
    freed = oomph.free()
    held_in_all = sum(holder.bytes for holder in freed.holders) + sum(size for _, size in freed.unseen)
    check("holders: add up to allocated", torch.cuda.memory_allocated(), held_in_all)
    check("holders: nothing counted twice", True, all(size >= 0 for _, size in freed.unseen))
    print(f"the search for holders took {seconds:.2f} s")
    for name in ("model", "optimizer", "losses"):
        delattr(main, name)


def budget() -> None:
    oomph.free(verbose=False)

    def fits(size: int) -> bool:
        try:
            taken(size)
        except torch.OutOfMemoryError:
            oomph.free(verbose=False)
            return False
        torch.cuda.empty_cache()
        return True

    room = 2048 * MIB - torch.cuda.memory_reserved()
    with oomph.budget("2 GiB"):
        check("budget: to the byte", (True, False), (fits(room // (2 * MIB) * 2 * MIB), fits(room + 2 * MIB)))
    check("budget: ends with its block", True, fits(room + 2 * MIB))
    limited = oomph.budget("1 GiB")(fits)
    check("budget: of a function", (False, True), (limited(1100 * MIB), fits(1100 * MIB)))
    try:
        oomph.budget("100 TiB")
    except oomph.OomphError as error:
        check("budget: more than the card", True, "is more than GPU 0 has" in str(error))


def peaks() -> None:
    with _peak.recording(torch):
        stretch = _peak.Stretch(torch)
        greedy = taken(258 * MIB)
        del greedy
        device, most = stretch.most()
        lines = stretch.lines(device)
    check("peak: of a stretch", 258 * MIB, most)
    check("peak: its line", True, bool(lines) and lines[0].bytes == 258 * MIB and lines[0].place.endswith(" taken"))
    check("peak: the record has ended", False, _peak.is_recording(torch))
    figures = callbacks.Figures()
    before = torch.cuda.memory_allocated()
    taken(1024 * MIB)
    expected = round(1 + before / 2**30, 4)
    check("figures: peak of a step", expected, figures.take()["oomph/peak_allocated_gib"])


def with_pytest() -> None:
    if importlib.util.find_spec("pytest") is None:
        print("pytest is not installed: the mark was not tried in it")
        return
    test = """
import pytest, torch
@pytest.mark.oomph_limit_gpu_memory("256 MiB")
def test_modest(): torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
@pytest.mark.oomph_limit_gpu_memory("256 MiB")
def test_greedy(): torch.empty(258 << 20, dtype=torch.uint8, device="cuda")
"""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "test_it.py")
        file.write_text(test)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    check("mark: one fails, one passes", True, "1 failed, 1 passed" in done.stdout)
    said = "oomph_limit_gpu_memory: the test took 258.00 MiB on GPU 0, its limit is 256.00 MiB"
    check("mark: says by how much", True, said in done.stdout)


def main() -> None:
    if not torch.cuda.is_available():
        sys.exit("torch finds no CUDA device here: nothing to check")
    torch.cuda.init()
    for part in (free_after_a_failure, workspaces, holders, budget, peaks, with_pytest):
        part()
    print("| check | expected | found | ok |\n|---|---|---|---|")
    for what, expected, found, ok in ROWS:
        print(f"| {what} | {expected} | {found} | {'yes' if ok else 'NO'} |")
    sys.exit(0 if all(ok for *_, ok in ROWS) else 1)


if __name__ == "__main__":
    main()
