"""Checkpoints of several ranks: all save at the same step, all go on from the same checkpoint, and nobody waits for ever."""

from __future__ import annotations

import json
import pathlib
import subprocess
from types import ModuleType
from typing import Any

# Forks the ranks of one job after the other: torch is imported once. What each rank prints is a line of JSON.
HELPER = """
import hashlib, json, os, pathlib, signal, sys, time, warnings
warnings.simplefilter("ignore")
import torch, oomph
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Replicate, init_device_mesh
from torch.nn.parallel import DistributedDataParallel
from oomph._checkpoint import disk
torch.set_num_threads(1)
here = pathlib.Path(sys.argv[1])
number = 0

def kill(): os.kill(os.getpid(), signal.SIGKILL)

def train(rank, dies):
    torch.manual_seed(rank if dies == "other" else 1)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.2), torch.nn.Linear(4, 2 + rank * (dies == "other")))
    if dies == "mesh":
        mesh = init_device_mesh("cpu", (2,))
        model.extra = torch.nn.Parameter(DTensor.from_local(torch.ones(2), mesh, [Replicate()], run_check=False))
    elif dies != "other":
        model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    torch.manual_seed(10 + rank)
    sampler = torch.utils.data.distributed.DistributedSampler(range(24), shuffle=True)
    loader = torch.utils.data.DataLoader(range(24), batch_size=2, sampler=sampler)
    saved = oomph.checkpoint(model, optimizer, loader, every="0.05s, 4 steps", folder=here / "checkpoints", keep=3)
    begun = saved.steps_done
    if dies == "save" and rank == 1:
        original, calls = disk.replace, []
        def replace(*words):
            calls.append(1)
            if len(calls) == 3:
                kill()
            original(*words)
        disk.replace = replace
    for epoch in saved.epochs(3):
        sampler.set_epoch(epoch)
        for batch in saved.batches():
            if dies == "step" and rank == 0 and saved.steps_done == 9:
                kill()
            optimizer.zero_grad()
            (model(batch.float()[:, None] * torch.rand(2, 4)) ** 2).sum().backward()
            optimizer.step()
            time.sleep(0.02)
            saved.step()
    saved.close()
    tensors = b"".join(tensor.numpy().tobytes() for tensor in model.state_dict().values())
    return [begun > 0, saved.steps_done, hashlib.sha256(tensors).hexdigest(), torch.rand(1).item()]

def rank_of(rank, world, dies):
    try:
        dist.init_process_group("gloo", init_method=f"file://{here}/store{number}", rank=rank, world_size=world)
        found = train(rank, dies)
    except oomph.OomphError as error:
        found = str(error)
    except RuntimeError as error:
        found = "a rank is gone"
    (here / f"out{rank}").write_text(json.dumps(found))
    os._exit(0)

def job(world, dies=None):
    global number
    number += 1
    for path in here.glob("out*"):
        path.unlink()
    pids = []
    for rank in range(world):
        pid = os.fork()
        if pid == 0:
            rank_of(rank, world, dies)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)
    names = sorted(path.name for path in (here / "checkpoints").glob("*.oomph"))
    outs = [json.loads(path.read_text()) if path.exists() else None for path in (here / f"out{rank}" for rank in range(world))]
    print(json.dumps({"outs": outs, "names": names}), flush=True)

def clear():
    for path in (here / "checkpoints").glob("*.oomph"):
        path.unlink()

job(2); clear()
job(2, "step"); job(2); clear()
job(2, "save"); job(2)
job(1); clear()
job(2, "other"); job(2, "mesh")
"""


def test_ranks_save_together_and_go_on_together(warm_python_alone: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    words = [warm_python_alone, tmp_path / "helper.py", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    whole, died, later, torn, after, alone, other, mesh = map(json.loads, done.stdout.splitlines())
    said = [line for line in done.stderr.splitlines() if line.startswith("oomph: ")]

    def ends(job: Any) -> Any:
        return [end[1:] for end in job["outs"]]

    assert whole["outs"][0][:2] == [False, 18] and whole["outs"][0][2] == whole["outs"][1][2], done
    assert whole["outs"][0][3] != whole["outs"][1][3], "each rank draws its own random numbers"
    # Of every checkpoint both parts are there, and three are kept.
    steps = [name.partition(".")[0] for name in whole["names"]]
    assert len(steps) == 6 and steps[::2] == steps[1::2], steps
    assert died["outs"] == [None, "a rank is gone"]
    assert later["outs"][0][0] is True and ends(later) == ends(whole), done.stderr
    # A rank was killed before its part had its name.
    assert torn["outs"][1] is None and after["outs"][0][0] is True and ends(after) == ends(whole), done.stderr
    assert any(line.endswith("is passed over: the parts of ranks 1 are missing") for line in said), said
    assert alone["outs"][0][0] is False
    assert any(line.endswith("is passed over: 2 ranks made it, and this job has one process") for line in said), said
    different = "the ranks hold different objects: oomph.checkpoint saves models that every rank has whole (DDP)"
    assert [end.startswith(different) for end in other["outs"]] == [True, True], other
    part = " is a DTensor (FSDP2, tensor parallel), of which each rank has a part"
    assert [part in end for end in mesh["outs"]] == [True, True], mesh


def test_a_rank_that_does_not_know_the_others_is_told(torch: ModuleType, tmp_path: pathlib.Path) -> None:
    import os

    import pytest

    import oomph

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "WORLD_SIZE", "2")
        with pytest.raises(oomph.OomphError) as raised:
            oomph.checkpoint(folder=tmp_path)
    assert str(raised.value) == (
        "this is one of 2 ranks, and they do not know each other yet: call torch.distributed.init_process_group() before "
        "oomph.checkpoint()"
    )
