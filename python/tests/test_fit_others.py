"""Where other tools that cut batches fail: the same case with them and with `oomph.fit`. Those of transformers and Lightning are
in test_fit_trainer.py and test_fit_lightning.py."""

from __future__ import annotations

import os
import pathlib
import subprocess
import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed here")

from torch import nn  # noqa: E402

import oomph  # noqa: E402

PATIENCE = 120


class Narrow(torch.autograd.Function):  # type: ignore[misc, name-defined]
    """An operation of the user's own. It has memory for four samples."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        if x.shape[0] > 4:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return 3 * x

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return 3 * grads[0]


def test_an_operation_that_nobody_knows_is_cut_too() -> None:
    torch.manual_seed(0)
    model, x, y = nn.Linear(4, 2), torch.randn(8, 4), torch.randint(0, 2, (8,))
    nn.functional.cross_entropy(3 * model(x), y).backward()
    expected = model.weight.grad.clone()
    model.zero_grad()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    fit = oomph.fit(lambda x, y: nn.functional.cross_entropy(Narrow.apply(model(x)), y), model=model, optimizer=optimizer)
    fit(x, y)
    assert fit.used == 2
    assert torch.allclose(model.weight.grad, expected, atol=1e-6)


def test_koila_runs_it_with_the_whole_batch_and_says_nothing() -> None:
    koila = pytest.importorskip("koila", reason="koila is not installed here (it needs pynvml 11.4.1)")
    model, x, y = nn.Linear(4, 2), torch.randn(8, 4), torch.randint(0, 2, (8,))
    lazy_x, lazy_y = koila.lazy(x, y, batch=0)
    with warnings.catch_warnings(record=True) as said, pytest.raises(torch.OutOfMemoryError):
        warnings.simplefilter("always")
        nn.functional.cross_entropy(Narrow.apply(model(lazy_x)), lazy_y).backward()
    assert [str(each.message) for each in said] == []


# Two ranks that train with DDP. Memory is short on rank 0: it computes its batch in two halves.
RANKS = """
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn

import oomph

store, rank, way = sys.argv[1], int(sys.argv[2]), sys.argv[3]
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2, timeout=timedelta(seconds=6))
torch.manual_seed(0)
model = nn.Linear(4, 2)
ddp = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
torch.manual_seed(rank + 1)
x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
loss = nn.functional.cross_entropy

def short_of_memory(x):
    if rank == 0 and x.shape[0] > 4:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
    return x

def step(x, y):
    return loss(ddp(short_of_memory(x)), y)

if way == "alone":
    # As Composer does: each rank finds its own number of parts, and every backward pass is one of DDP's.
    try:
        step(x, y).backward()
    except torch.OutOfMemoryError:
        for part in range(2):
            (step(x[4 * part : 4 * part + 4], y[4 * part : 4 * part + 4]) / 2).backward()
    dist.barrier()
else:
    oomph.fit(step, model=ddp, optimizer=optimizer, count="samples")(x, y)
    dist.barrier()
print("done", model.weight.grad.double().sum().item())
dist.destroy_process_group()
"""


@pytest.mark.parametrize("way", ["alone", "together"])
def test_ranks_wait_for_one_that_repeats_alone_and_agree_with_oomph(way: str, warm_python_alone: str, tmp_path: pathlib.Path) -> None:
    script = tmp_path / "ranks.py"
    script.write_text(RANKS)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"}
    ranks = [
        subprocess.Popen(
            [warm_python_alone, str(script), str(tmp_path / "store"), str(rank), way],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in range(2)
    ]
    try:
        said = [rank.communicate(timeout=PATIENCE) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    if way == "alone":
        # They would wait for each other for ever: the time limit of the process group ends it.
        assert [rank.returncode for rank in ranks] != [0, 0], said
        return
    assert [rank.returncode for rank in ranks] == [0, 0], said
    first, second = (out.splitlines()[-1] for out, _ in said)
    assert first == second and first.startswith("done ")
