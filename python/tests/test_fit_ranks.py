"""Four ranks, memory runs out on some of them: none waits for ever, and all end with the same parameters.

`./x test` makes a few runs, OOMPH_ATTACK=1 a hundred. OOMPH_SEED=N chooses others."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest

pytest.importorskip("torch", reason="torch is not installed here")

RUNS = 100 if os.environ.get("OOMPH_ATTACK") else 5
SEED = os.environ.get("OOMPH_SEED", "1")
RANKS = 4
PATIENCE = 900 if os.environ.get("OOMPH_ATTACK") else 120


def test_failures_on_some_ranks_hang_nobody(warm_python_alone: str, tmp_path: pathlib.Path) -> None:
    script = pathlib.Path(__file__).with_name("fit_ranks.py")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"}
    ranks = [
        subprocess.Popen(
            [warm_python_alone, str(script), str(tmp_path / "store"), str(rank), str(RANKS), SEED, "0", str(RUNS)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in range(RANKS)
    ]
    try:
        said = [rank.communicate(timeout=PATIENCE) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    for rank, (out, err) in zip(ranks, said):
        assert out.splitlines() == [f"run {run}: good" for run in range(RUNS)], out + err
        assert rank.returncode == 0, err


def test_what_makes_ranks_wait_inside_a_step_is_refused() -> None:
    import torch
    from torch.distributed.fsdp import FSDPModule

    from oomph._fit import ranks

    class Sharded(FSDPModule, torch.nn.Linear):  # type: ignore[misc]
        def __new__(cls, *args: object) -> object:
            # FSDP's own one takes a model apart.
            return torch.nn.Linear.__new__(cls)

    class Hooked(torch.nn.parallel.DistributedDataParallel):  # type: ignore[misc]
        def __init__(self) -> None:
            torch.nn.Module.__init__(self)
            self._comm_hooks = ["a hook"]

    said = {
        Sharded(2, 2): "oomph.fit cannot repeat a step of an FSDP model: ranks wait for each other inside it; "
        "use smaller batches there, or DistributedDataParallel",
        torch.nn.SyncBatchNorm(2): "oomph.fit cannot repeat a step with SyncBatchNorm: "
        "ranks wait for each other inside it",
        Hooked(): "oomph.fit averages gradients itself and cannot use this model's communication hook: remove it",
    }
    for module, text in said.items():
        with pytest.raises(TypeError) as raised:
            ranks._check(module)
        assert str(raised.value) == text
