"""A random program for PyTorch's CUDA allocator, recorded from its start.

Unlike a training loop it visits every corner at once: many streams, frees that wait for another stream, caches
emptied at odd moments, captured graphs kept and dropped, memory pools, failures that are caught. Its snapshot is what
a replay has to reproduce.

    python3 gpu/fuzz.py OUT.pickle.gz --seed 3 --ops 4000 [--limit GIB] [--streams 3] [--graphs] [--pools] [--window N]

prints one JSON line: the peaks PyTorch measured, and the limit.
"""

import argparse
import gzip
import json
import os
import random

import torch


class Program:
    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.random = random.Random(args.seed)
        self.streams = [torch.cuda.default_stream(), *(torch.cuda.Stream() for _ in range(args.streams - 1))]
        self.live: list[torch.Tensor] = []
        self.graphs: list[object] = []
        self.pools: list[object] = []
        self.budget = args.budget << 20
        self.used = 0
        self.ooms = 0

    def size(self) -> int:
        kind = self.random.random()
        if kind < 0.45:
            return self.random.randrange(1, 1 << 20)
        if kind < 0.75:
            return self.random.randrange(1 << 20, 12 << 20)
        if kind < 0.9:
            return self.random.choice([2, 6, 10, 20, 32, 64, 65, 100]) << 20
        return self.random.randrange(10 << 20, 160 << 20)

    def alloc(self) -> None:
        size = self.size()
        try:
            with torch.cuda.stream(self.random.choice(self.streams)):
                self.live.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
            self.used += size
        except torch.OutOfMemoryError:
            self.ooms += 1
            for _ in range(len(self.live) // 3):
                self.free()

    def free(self) -> None:
        if not self.live:
            return
        tensor = self.live.pop(self.random.randrange(len(self.live)))
        self.used -= tensor.numel()
        if self.random.random() < 0.15 and len(self.streams) > 1:
            stream = self.random.choice(self.streams)
            with torch.cuda.stream(stream):
                torch.cuda._sleep(self.random.randrange(100_000, 3_000_000))
            tensor.record_stream(stream)

    def capture(self) -> None:
        graph = torch.cuda.CUDAGraph()
        kept = []
        with torch.cuda.graph(graph):
            for _ in range(self.random.randrange(1, 6)):
                kept.append(torch.empty(self.size() // 4 + 1, dtype=torch.uint8, device="cuda"))
                if self.random.random() < 0.4:
                    kept.pop(self.random.randrange(len(kept)))
        self.graphs.append((graph, kept))
        if len(self.graphs) > 2:
            self.graphs.pop(0)

    def pool(self) -> None:
        if len(self.pools) > 2:
            self.pools.pop(0)
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            kept = [torch.empty(self.size() // 4 + 1, dtype=torch.uint8, device="cuda") for _ in range(4)]
            kept.pop(self.random.randrange(len(kept)))
        self.pools.append((pool, kept))

    def run(self) -> None:
        for _ in range(self.args.ops):
            dice = self.random.random()
            if dice < 0.002:
                torch.cuda.empty_cache()
            elif self.args.graphs and dice < 0.006:
                self.capture()
            elif self.args.pools and dice < 0.010:
                self.pool()
            elif self.used < self.budget and (self.random.random() < 0.56 or not self.live):
                self.alloc()
            else:
                self.free()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ops", type=int, default=4000)
    parser.add_argument("--budget", type=int, default=3000, help="MiB in use at most")
    parser.add_argument("--limit", type=float, help="GiB")
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--graphs", action="store_true")
    parser.add_argument("--pools", action="store_true")
    parser.add_argument("--window", type=int, default=400_000)
    parser.add_argument("--no-stacks", action="store_true")
    args = parser.parse_args()
    torch.zeros(1, device="cuda")
    total = torch.cuda.get_device_properties(0).total_memory
    fraction = args.limit * 2**30 / total if args.limit else 1.0
    if args.limit:
        torch.cuda.set_per_process_memory_fraction(fraction)
    torch.cuda.memory._record_memory_history(
        max_entries=args.window, stacks="python", context=None if args.no_stacks else "all"
    )
    program = Program(args)
    program.run()
    stats = torch.cuda.memory_stats()
    raw = args.out + ".raw"
    torch.cuda.memory._dump_snapshot(raw)
    with open(raw, "rb") as source, gzip.open(args.out, "wb", 6) as target:
        target.write(source.read())
    os.remove(raw)
    print(json.dumps({
        "peak_requested": stats["requested_bytes.all.peak"],
        "peak_allocated": stats["allocated_bytes.all.peak"],
        "peak_active": stats["active_bytes.all.peak"],
        "peak_reserved": stats["reserved_bytes.all.peak"],
        "retries": stats["num_alloc_retries"],
        "ooms": stats["num_ooms"],
        "limit": int(fraction * total) if fraction < 1 else None,
    }))


if __name__ == "__main__":
    main()
