"""Ranks of worlds that are not there: what each holds, which is the worst, and that none waits for another."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from programs import Programs

MIB = 1 << 20

# What all of the scripts begin with.
BEGIN = """
import os, sys, torch, torch.distributed as dist
from torch import nn
rank = int(os.environ["RANK"])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group()
world = dist.get_world_size()
"""


def plan(programs: Programs, script: str, *words: str, launcher: tuple[str, ...] = ()) -> dict[str, Any]:
    programs.write(BEGIN + script)
    command = [programs.oomph, "plan", "--gpu", "H200", "--json", "--quiet", "--python", programs.warm_python]
    environment = {**programs.environment(None), "OOMPH_PHANTOM_LIB": programs.phantom}
    command += [*([] if "--options" in words else ["--no-options"]), *words, *launcher, "train.py"]
    done = subprocess.run(command, cwd=programs.folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def rows(answer: dict[str, Any]) -> dict[int, int]:
    """What each rank that was run has requested at its peak, in whole MiB."""
    return {row["rank"]: row["peak_requested"] // MIB for row in answer["world"]["ranks"]}


SHARDED = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
mesh = init_device_mesh("cuda", (2, world // 2), mesh_dim_names=("copies", "shards"))
with torch.device("meta"):
    model = nn.Sequential(*[nn.Linear(2048, 2048, bias=False) for _ in range(4)])
for layer in model:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh).to_empty(device=device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(3):
    model(torch.randn(8, 2048, device=device)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


GATHERED = """
from torch.distributed.fsdp import FullyShardedDataParallel
layers = [FullyShardedDataParallel(nn.Linear(2048, 2048 * times, bias=False).cuda()) for times in (1, 2)]
layers[1:] += [nn.Linear(4096, 4096 * 9, bias=False).cuda()]
model = FullyShardedDataParallel(nn.Sequential(*layers))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.randn(8, 2048, device=device)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_two_units_of_fsdp_may_be_held_while_the_gpu_is_busy(programs: Programs) -> None:
    answer = plan(programs, GATHERED, "--nproc", "4", "--rank", "0")
    assert answer["why_not"] is None
    # The second unit's parameters, twice. The root, which is larger, keeps its own.
    assert answer["late_bytes"] == 2 * 2048 * 4096 * 4
    said = "FSDP1 gives a unit's gathered parameters back while the GPU still computes with them; of two units, up to 64.00 MiB more are"
    assert [caveat for caveat in answer["caveats"] if "FSDP1" in caveat] == [f"{said} held meanwhile: counted in full"]


def test_a_rank_holds_its_shard(programs: Programs) -> None:
    # On a rank that is neither the first nor on the first node.
    answer = plan(programs, SHARDED, "--nproc", "8", "--nnodes", "8", "--rank", "37")
    assert answer["why_not"] is None
    assert answer["world"]["size"] == 64 and answer["world"]["worst"] == 37
    assert answer["world"]["communicators"] == 2
    # Of 64 MiB of weights the 32 shards of a copy have 2 MiB each; with DTensors they are known as weights.
    assert answer["by_class"]["weights"] == 2 * MIB
    assert "of 64 ranks, 37 was run and the others taken to be like it" in answer["caveats"]


DDP = """
model = nn.Sequential(nn.Linear(1024, 1024, bias=False), nn.Linear(1024, 1024, bias=False)).to(device)
model = nn.parallel.DistributedDataParallel(model, device_ids=[device.index])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.randn(8, 1024, device=device)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
# What others have is what this rank has, in tensors on the card and on the host, and as objects.
count, counts = torch.tensor([rank + 2], device=device), [torch.zeros(1, dtype=torch.long, device=device) for _ in range(world)]
dist.all_gather(counts, count)
assert [int(each) for each in counts] == [rank + 2] * world
names = [None] * world
dist.all_gather_object(names, {"rank": rank})
assert names == [{"rank": rank}] * world
# What rank 0 says reaches the ranks that are run after it.
said = [rank]
dist.broadcast_object_list(said, src=0)
assert said == [0]
host = dist.new_group(backend="gloo")
dist.all_reduce(torch.ones(2), group=host)
dist.barrier()
"""


def test_ddp_works_on_the_first_rank_and_on_the_last(programs: Programs) -> None:
    answer = plan(programs, DDP, "--nproc", "4", "--steps", "9")
    assert answer["why_not"] is None
    assert sorted(rows(answer)) == [0, 3] and len(set(rows(answer).values())) == 1
    assert answer["late_bytes"] == 8 * MIB
    needs = ("peak_reserved", "context_bytes", "nccl_bytes", "late_bytes")
    assert answer["process_bytes"] == sum(answer[name] for name in needs)


def test_torchrun_starts_one_rank_in_its_own_place(programs: Programs) -> None:
    launcher = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "4", "--nnodes", "2")
    script = "torch.ones(3 << 20, dtype=torch.uint8, device=device)\nassert torch.cuda.device_count() == 4\n"
    answer = plan(programs, script, "--rank", "5", launcher=launcher)
    assert answer["why_not"] is None
    assert (rows(answer), answer["world"]["size"]) == ({5: 3}, 8)


PIPELINE = """
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
model = nn.Sequential(*[nn.Linear(1024, 1024, bias=False) for _ in range(1 + 2 * rank)]).to(device)
schedule = ScheduleGPipe(PipelineStage(model, rank, world, device), 2, loss_fn=nn.functional.mse_loss)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(8, 1024, device=device)
    schedule.step(*([x] if rank == 0 else []), **({"target": x} if rank == world - 1 else {}))
    optimizer.step()
    optimizer.zero_grad()
"""


def test_every_stage_of_a_pipeline_is_run_and_the_worst_is_named(programs: Programs) -> None:
    answer = plan(programs, PIPELINE, "--nproc", "3")
    assert answer["why_not"] is None
    assert [(row["rank"], row["stage"]) for row in answer["world"]["ranks"]] == [(0, 0), (1, 1), (2, 2)]
    held = rows(answer)
    # Weights and gradients of 4 MiB a layer.
    assert (held[1] - held[0], held[2] - held[1]) == (16, 16)
    assert answer["world"]["worst"] == 2 and answer["peak_requested"] // MIB == held[2]


def test_who_waits_for_another_rank_is_told_in_a_line(programs: Programs) -> None:
    script = "dist.distributed_c10d._get_default_store().get('the answer')\n"
    answer = plan(programs, script, "--nproc", "2")
    assert answer["fits"] is None
    assert "oomph plan runs rank 0 alone: nobody sets the key" in answer["why_not"]
    script = "dist.recv_object_list([None], src=1)\n"
    answer = plan(programs, script, "--nproc", "2")
    assert "rank 0 waits for an object of rank 1, which is not there" in answer["why_not"]


def test_a_rank_that_there_is_not_is_refused(programs: Programs) -> None:
    programs.write("")
    command = [programs.oomph, "plan", "--gpu", "H200", "--nproc", "2", "--rank", "2", "train.py"]
    done = subprocess.run(command, cwd=programs.folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "oomph: there is no rank 2: the world has 2, from 0 on\n")


LAYERS = """
from torch.distributed.fsdp import fully_shard
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2048, 2048, bias=False)
    def forward(self, x):
        return self.layer(x).relu()
model = nn.Sequential(*[Block() for _ in range(8)]).to(device)
"""
STEPS = """
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.randn(8, 2048, device=device)).sum().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
"""
COPIED = "model = nn.parallel.DistributedDataParallel(model)\n"
DIVIDED = "for block in model:\n    fully_shard(block)\nfully_shard(model)\n"


def test_what_fsdp_would_save_is_what_it_needs_by_hand(programs: Programs) -> None:
    changed = plan(programs, LAYERS + COPIED + STEPS, "--nproc", "8", "--options")
    by_hand = plan(programs, LAYERS + DIVIDED + STEPS, "--nproc", "8")
    (found,) = (option for option in changed["options"] if option["change"] == "FSDP instead of DDP")
    assert found["peak_reserved"] == by_hand["peak_reserved"] < changed["peak_reserved"] / 2
    # Who does not use DDP, or has its optimizer hold what is divided, is not told of it.
    optimizer, loop = STEPS.split("for _", 1)
    for script in (DIVIDED + STEPS, optimizer + COPIED + "for _" + loop):
        answer = plan(programs, LAYERS + script, "--nproc", "8", "--options")
        assert [option for option in answer["options"] if "FSDP" in option["change"]] == []


# DeepSpeed's ZeRO-3 asks in this way whether all ranks have the same lists.
BROADCAST = """
own = [5 + rank, 7 + rank]
told = torch.tensor(own if rank == 0 else [-1, -1], device=device)
dist.broadcast(told, 0)
weights = torch.randn(2, device=device) * torch.ones(2, device=device)
dist.broadcast(weights, src=0)
kept = torch.empty(told.tolist()[0] << 20, dtype=torch.uint8, device=device)
assert told.cpu().numpy().tolist() == [5, 7]
"""


def test_a_small_tensor_of_the_first_rank_arrives_at_the_others(programs: Programs) -> None:
    answer = plan(programs, BROADCAST, "--nproc", "8", "--rank", "0", "--rank", "6")
    assert (answer["why_not"], rows(answer)) == (None, {0: 5, 6: 5})
    # A rank that is asked for alone gets what others send it, from wherever they have it.
    answer = plan(programs, BROADCAST, "--nproc", "8", "--rank", "6")
    assert (answer["why_not"], rows(answer)) == (None, {6: 5})
    answer = plan(programs, PASSED_ON, "--nproc", "8", "--rank", "3")
    assert (answer["why_not"], rows(answer)) == (None, {3: 4})


PASSED_ON = """
told = [1]
if rank > 0:
    dist.recv_object_list(told, src=rank - 1)
told[0] += 1
if rank < world - 1:
    dist.send_object_list(told, dst=rank + 1)
kept = torch.empty((told[0] - 1) << 20, dtype=torch.uint8, device=device)
back = [None]
if rank == 3:
    dist.recv_object_list(back, src=4)
elif rank == 4:
    dist.send_object_list(["back"], dst=3)
assert rank != 3 or back == ["back"]
"""
