"""One rank of a distributed training job, as users write them with PyTorch's own functions.

    torchrun --nproc-per-node 8 rank_job.py --kind fsdp2

With `--alone --world 64 --rank 3` it is that rank of a world that is not there: PyTorch's `fake` process group answers its
collectives. DDP does not work with that one, so `--kind ddp` takes a communicator of NCCL for a world of one, whose buckets
are the same. `--kind zero3` is DeepSpeed's ZeRO, of that stage. It prints the peaks of three steps as a line of JSON.
"""

from __future__ import annotations

import argparse
import functools
import json
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

VOCABULARY = 32000
EXPERTS = 64


class Block(nn.Module):  # type: ignore[misc]
    """Attention and a gated layer, as in Llama; with `experts`, a mixture of them instead of the layer."""

    def __init__(self, width: int, heads: int, experts: nn.Module | None = None) -> None:
        super().__init__()
        self.head_width = width // heads
        self.before = nn.RMSNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.between = nn.RMSNorm(width)
        self.experts = experts
        if experts is None:
            self.gate, self.up = (nn.Linear(width, 3 * width, bias=False) for _ in range(2))
            self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = self.before(x)
        q, k, v = (layer(y).unflatten(-1, (-1, self.head_width)).transpose(1, 2) for layer in (self.q, self.k, self.v))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        y = self.between(x)
        if self.experts is not None:
            return x + self.experts(y)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Experts(nn.Module):  # type: ignore[misc]
    """This rank's share of the experts. Tokens go to the ranks that have theirs, and come back: all_to_all by hand."""

    def __init__(self, width: int, world: int) -> None:
        super().__init__()
        self.world = world
        own = max(EXPERTS // world, 1)
        self.router = nn.Linear(width, EXPERTS, bias=False)
        self.up = nn.Parameter(torch.empty(own, width, width))
        self.down = nn.Parameter(torch.empty(own, width, width))

    def forward(self, x: Tensor) -> Tensor:
        from torch.distributed.nn.functional import all_to_all_single

        tokens = x.flatten(0, 1)
        weight, _ = self.router(tokens).softmax(-1).max(-1, keepdim=True)
        # Every rank gets as many tokens as every other: the lengths are known.
        sent = (tokens * weight).contiguous()
        came = all_to_all_single(torch.empty_like(sent), sent)
        own = came.unflatten(0, (self.up.shape[0], -1))
        made = torch.bmm(F.silu(torch.bmm(own, self.up.to(own.dtype))), self.down.to(own.dtype)).flatten(0, 1)
        return all_to_all_single(torch.empty_like(made), made.contiguous()).view_as(x)


class Model(nn.Module):  # type: ignore[misc]
    """`first` has the embedding and `last` the head: a stage of a pipeline may have neither."""

    def __init__(self, width: int, heads: int, depth: int, *, first: bool = True, last: bool = True, world: int = 0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width) if first else None
        self.blocks = nn.ModuleList(Block(width, heads, Experts(width, world) if world else None) for _ in range(depth))
        self.norm = nn.RMSNorm(width) if last else None
        self.head = nn.Linear(width, VOCABULARY, bias=False) if last else None

    def forward(self, x: Tensor) -> Tensor:
        if self.embedding is not None:
            x = self.embedding(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)) if self.norm is not None and self.head is not None else x


def loss_of(logits: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten())


def filled(model: nn.Module) -> nn.Module:
    """Gives a model that was made on no device its weights."""
    model.to_empty(device="cuda")
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.02)
    return model


def sharded(model: Model, mesh: DeviceMesh, checkpointing: bool = False) -> Model:
    from torch.distributed._composable import checkpoint
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    precision = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        if checkpointing:
            checkpoint(block)
        fully_shard(block, mesh=mesh, mp_policy=precision)
    fully_shard(model, mesh=mesh, mp_policy=precision)
    return model


def tensor_parallel(model: Model, mesh: DeviceMesh) -> Model:
    """Tensor and sequence parallel: between the layers, each rank has its part of every sequence."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module

    plan: dict[str, object] = {
        "embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "norm": SequenceParallel(),
        "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
    }
    for number in range(len(model.blocks)):
        block = f"blocks.{number}"
        plan |= {f"{block}.{name}": SequenceParallel() for name in ("before", "between")}
        plan |= {f"{block}.{name}": ColwiseParallel(input_layouts=Shard(1)) for name in ("q", "k", "v", "gate", "up")}
        plan |= {f"{block}.{name}": RowwiseParallel(output_layouts=Shard(1)) for name in ("o", "down")}
    parallelize_module(model, mesh, plan)
    return model


def built(a: argparse.Namespace, world: int) -> nn.Module:
    size = a.width, a.heads, a.depth
    if a.kind == "ddp":
        device = torch.cuda.current_device()
        return nn.parallel.DistributedDataParallel(Model(*size).cuda(), device_ids=[device], gradient_as_bucket_view=a.view)
    if a.kind == "fsdp1":
        from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
        from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

        return FullyShardedDataParallel(
            Model(*size),
            auto_wrap_policy=functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block}),
            mixed_precision=MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32),
            device_id=torch.cuda.current_device(),
            use_orig_params=True,
        )
    if a.kind == "ep":
        return Model(*size, world=world).cuda()
    with torch.device("meta"):
        model = Model(*size)
    if a.kind == "tp":
        return filled(tensor_parallel(model, init_device_mesh("cuda", (world,))))
    if a.kind == "2d":
        mesh = init_device_mesh("cuda", (world // 8, 8), mesh_dim_names=("data", "tensor"))
        return filled(sharded(tensor_parallel(model, mesh["tensor"]), mesh["data"]))
    if a.kind == "hsdp":
        copies = 2 if world <= 8 else 8
        return filled(sharded(model, init_device_mesh("cuda", (copies, world // copies), mesh_dim_names=("copies", "shards"))))
    return filled(sharded(model, init_device_mesh("cuda", (world,)), a.kind == "fsdp2-ckpt"))


def train(a: argparse.Namespace, world: int) -> None:
    model = built(a, world)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(a.steps):
        x = torch.randint(0, VOCABULARY, (a.batch, a.length), device="cuda")
        with torch.autocast("cuda", torch.bfloat16, enabled=a.kind in ("ddp", "tp", "ep")):
            loss = loss_of(model(x), x)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def train_in_pieces_of_sequences(a: argparse.Namespace, world: int) -> None:
    """Context parallel: each rank has its part of every sequence, and attention goes round them."""
    from torch.distributed.tensor.experimental import context_parallel
    from torch.nn.attention import SDPBackend, sdpa_kernel

    mesh = init_device_mesh("cuda", (world,))
    model = sharded(Model(a.width, a.heads, a.depth), mesh) if a.view else Model(a.width, a.heads, a.depth).cuda().bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(a.steps):
        x = torch.randint(0, VOCABULARY, (a.batch, a.length), device="cuda")
        labels = x.clone()
        pieces = context_parallel(mesh, buffers=[x, labels], buffer_seq_dims=[1, 1], no_restore_buffers={x, labels})
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION), pieces:
            loss_of(model(x), labels).backward()
        optimizer.step()
        optimizer.zero_grad()


def train_with_deepspeed(a: argparse.Namespace) -> None:
    """ZeRO as DeepSpeed makes it."""
    import deepspeed

    stage = int(a.kind.removeprefix("zero"))
    config = {
        "train_micro_batch_size_per_gpu": a.batch,
        "bf16": {"enabled": True},
        "gradient_clipping": 1.0,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}},
        "zero_optimization": {"stage": stage},
    }
    with deepspeed.zero.Init(config_dict_or_path=config, enabled=stage == 3):
        model = Model(a.width, a.heads, a.depth)
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    for _ in range(a.steps):
        x = torch.randint(0, VOCABULARY, (a.batch, a.length), device="cuda")
        engine.backward(loss_of(engine(x), x))
        engine.step()


def train_pipeline(a: argparse.Namespace, rank: int, world: int) -> None:
    """Eight stages; with more ranks, each stage is sharded over the ranks that have it."""
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

    stages = min(world, 8)
    mesh = init_device_mesh("cuda", (stages, world // stages), mesh_dim_names=("stages", "data"))
    stage = rank // (world // stages)
    first, last = stage == 0, stage == stages - 1
    with torch.device("meta"):
        model = Model(a.width, a.heads, a.depth // stages, first=first, last=last)
    if world > stages:
        model = sharded(model, mesh["data"])
    filled(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    micro = a.batch // a.microbatches
    kind = torch.bfloat16 if world > stages else torch.float32
    between = torch.empty(micro, a.length, a.width, device="meta", dtype=kind)
    tokens = torch.empty(micro, a.length, device="meta", dtype=torch.long)
    logits = torch.empty(micro, a.length, VOCABULARY, device="meta", dtype=kind)
    pipe = PipelineStage(
        model,
        stage,
        stages,
        torch.device("cuda", torch.cuda.current_device()),
        input_args=tokens if first else between,
        output_args=logits if last else between,
        group=mesh["stages"].get_group(),
    )
    schedule_class = ScheduleGPipe if a.schedule == "gpipe" else Schedule1F1B
    schedule = schedule_class(pipe, a.microbatches, loss_fn=loss_of)
    for _ in range(a.steps):
        x = torch.randint(0, VOCABULARY, (a.batch, a.length), device="cuda")
        schedule.step(*([x] if first else []), **({"target": x} if last else {}))
        optimizer.step()
        optimizer.zero_grad()


def begin(a: argparse.Namespace) -> tuple[int, int]:
    """Joins the world, and says which rank of how many this is."""
    if not a.alone:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        dist.init_process_group("nccl")
        return dist.get_rank(), dist.get_world_size()
    # DeepSpeed reads it, whoever started the process.
    os.environ.setdefault("LOCAL_RANK", "0")
    if a.kind == "ddp":
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    else:
        from torch.testing._internal.distributed.fake_pg import FakeStore

        dist.init_process_group("fake", store=FakeStore(), rank=a.rank, world_size=a.world)
    return a.rank, a.world


def beside() -> int:
    """What the process holds on the card beside PyTorch's memory."""
    free, total = torch.cuda.mem_get_info()
    return int(total - free - torch.cuda.memory_reserved())


def held_by_nccl() -> list[int]:
    """What each of three communicators takes of the card when it is first used."""
    one = torch.ones(1, device="cuda")
    held = []
    for group in (None, dist.new_group([0]), dist.new_group([0])):
        torch.cuda.synchronize()
        before = beside()
        dist.all_reduce(one, group=group)
        torch.cuda.synchronize()
        held.append(beside() - before)
    return held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", default="fsdp2", choices="ddp fsdp1 fsdp2 fsdp2-ckpt hsdp tp 2d pp ep cp zero1 zero2 zero3".split())
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--depth", type=int, default=16)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--microbatches", type=int, default=8)
    parser.add_argument("--schedule", default="1f1b", choices=("1f1b", "gpipe"))
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--view", action="store_true", help="gradients are views of DDP's buckets; with cp, FSDP2 too")
    parser.add_argument("--alone", action="store_true", help="a rank of a world that is not there")
    parser.add_argument("--world", type=int, default=8, help="with --alone")
    parser.add_argument("--rank", type=int, default=0, help="with --alone")
    parser.add_argument("--report", action="store_true", help="print the peaks")
    a = parser.parse_args()
    torch.manual_seed(0)
    rank, world = begin(a)
    nccl = held_by_nccl() if a.report and a.kind == "ddp" else None
    if a.kind == "pp":
        train_pipeline(a, rank, world)
    elif a.kind == "cp":
        train_in_pieces_of_sequences(a, world)
    elif a.kind.startswith("zero"):
        train_with_deepspeed(a)
    else:
        train(a, world)
    if a.report:
        torch.cuda.synchronize()
        stats = torch.cuda.memory_stats()
        row = {f"peak_{kind}": stats[f"{kind}_bytes.all.peak"] for kind in ("requested", "allocated", "reserved")}
        print(json.dumps(row if nccl is None else {**row, "nccl_bytes": nccl}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
