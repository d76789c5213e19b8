"""Measures on a GPU how much memory cuDNN works in, for the phantom GPU's model of it.

`python gpu/measure_cudnn.py [--seconds 225] > cudnn.jsonl` needs torch and a GPU. Each line is one measurement; the first
says on what. The shapes are those of gpu/convolutions.csv, which `--collect` makes again from torchvision's models, and
some that no model has. With `--log FILE` they are those that a plan wrote down with OOMPH_PHANTOM_LOG=conv.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import pathlib
import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

SHAPES = pathlib.Path(__file__).with_name("convolutions.csv")
COLUMNS = "channels height width filters kernel_h kernel_w stride_h stride_w pad_h pad_w dilation_h dilation_w groups".split()
TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
Shape = tuple[int, ...]
Job = tuple[str, str, int, Shape]


def collect() -> None:
    """Writes the convolutions of all of torchvision's classifiers, at the size that each is trained with."""
    import torchvision

    found: set[Shape] = set()

    def note(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], _: torch.Tensor) -> None:
        assert isinstance(module, torch.nn.Conv2d) and not isinstance(module.padding, str)
        shape = (*inputs[0].shape[1:], module.out_channels, *module.kernel_size)
        found.add((*shape, *module.stride, *module.padding, *module.dilation, module.groups))

    for name in torchvision.models.list_models(module=torchvision.models):
        size = 299 if name == "inception_v3" else 224
        try:
            with torch.device("meta"):
                model = torchvision.models.get_model(name, weights=None)
        except RuntimeError:
            # Some compute their widths with tensors, which must have values.
            model = torchvision.models.get_model(name, weights=None).to("meta")
        for module in model.modules():
            if isinstance(module, torch.nn.Conv2d):
                module.register_forward_hook(note)
        with torch.no_grad():
            model.eval()(torch.empty(2, 3, size, size, device="meta"))
    with SHAPES.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *sorted(found)])


def shapes() -> list[Shape]:
    with SHAPES.open() as file:
        return [tuple(map(int, row)) for row in list(csv.reader(file))[1:]]


def others(choose: random.Random, count: int) -> Iterator[Shape]:
    """Shapes that no model has, so that rules are not made for those of models only."""
    for _ in range(count):
        channels, filters = (choose.choice((3, 8, 20, 32, 48, 64, 100, 128, 192, 256, 320, 512, 640, 1280)) for _ in "ab")
        size = choose.choice((7, 8, 13, 16, 28, 32, 48, 64, 100, 128))
        kernel, stride = choose.choice((1, 3, 3, 4, 5, 7)), choose.choice((1, 1, 2))
        dilation = 2 if kernel == 3 and choose.random() < 0.1 else 1
        pad = dilation * (kernel // 2)
        yield channels, size, size, filters, kernel, kernel, stride, stride, pad, pad, dilation, dilation, 1


def jobs(choose: random.Random, done: int) -> Iterator[Job]:
    """What to measure, the most useful first; without the shapes of models that an earlier run came to."""
    known = shapes()
    main = [*itertools.product(("fp32", "fp16"), ("first",), (8, 16, 32, 64, 128), known)]
    rest: list[Job] = [*itertools.product(("bf16",), ("first",), (16, 64), choose.sample(known, len(known) // 5))]
    rest += itertools.product(("fp32", "fp16"), ("last",), (32,), choose.sample(known, len(known) // 3))
    rest += itertools.product(("fp32", "fp16"), ("first",), (1, 4, 24, 48, 96, 256), choose.sample(known, len(known) // 6))
    rest += itertools.product(("fp32", "fp16"), ("first",), (2, 16, 64), others(choose, 400))
    choose.shuffle(main)
    choose.shuffle(rest)
    for first, second in itertools.zip_longest(main[done:], [] if done else rest):
        yield from (job for job in (first, second) if job is not None)


def peak_of(work: Callable[[], Any]) -> tuple[int, Any]:
    """Bytes requested at the peak of some work beyond those before it, and its result."""
    torch.cuda.reset_peak_memory_stats()
    before = torch._C._cuda_memoryStats(0)["requested_bytes"]["all"]["current"]
    result = work()
    return torch._C._cuda_memoryStats(0)["requested_bytes"]["all"]["peak"] - before, result


def bytes_of(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def convolution(job: Job) -> dict[str, object]:
    """The workspaces of the three directions of one convolution."""
    kind, layout, batch, shape = job
    channels, height, width, filters, kernel_h, kernel_w, *moves, groups = shape
    stride, pad, dilation = moves[0:2], moves[2:4], moves[4:6]
    order = torch.channels_last if layout == "last" else torch.contiguous_format
    options: dict[str, Any] = {"device": "cuda", "dtype": TYPES[kind]}
    x = torch.empty(batch, channels, height, width, **options).contiguous(memory_format=order)
    w = torch.empty(filters, channels // groups, kernel_h, kernel_w, **options).contiguous(memory_format=order)
    out, y = peak_of(lambda: torch.ops.aten.convolution(x, w, None, stride, pad, dilation, False, [0, 0], groups))
    found = [out - bytes_of(y)]
    for mask, result in (([True, False, False], x), ([False, True, False], w)):
        arguments = (y, x, w, None, stride, pad, dilation, False, [0, 0], groups, mask)
        out, gradients = peak_of(lambda: torch.ops.aten.convolution_backward(*arguments))
        found.append(out - bytes_of(result))
        del gradients
    return {"conv": [kind, layout, batch, *shape], "bytes": found}


def logged(line: str) -> dict[str, object]:
    """The workspace of one direction of a convolution, of one, two or three dimensions, in the words of the phantom's log."""
    words = line.removeprefix("oomph conv: ").split()
    direction, kind, layout = words[:3]
    parts = {name: [int(size) for size in sizes.split("x")] for name, sizes in (word.split("=") for word in words[3:])}
    order = torch.contiguous_format if layout == "nchw" else [torch.channels_last, torch.channels_last_3d][len(parts["pad"]) - 2]
    options: dict[str, Any] = {"device": "cuda", "dtype": TYPES[kind]}
    x, w, y = (torch.empty(parts[name], **options).contiguous(memory_format=order) for name in "xwy")
    moves = (parts["stride"], parts["pad"], parts["dilation"], False, [0] * len(parts["pad"]), parts["groups"][0])
    if direction == "forward":
        out, made = peak_of(lambda: torch.ops.aten.convolution(x, w, None, *moves))
        return {"log": line, "bytes": out - bytes_of(made)}
    mask, result = {"data": ([True, False, False], x), "filter": ([False, True, False], w)}[direction]
    out, made = peak_of(lambda: torch.ops.aten.convolution_backward(y, x, w, None, *moves, mask))
    return {"log": line, "bytes": out - bytes_of(result)}


def normalization(kind: str, layout: str, shape: Shape) -> dict[str, object]:
    """What batch normalization works in, forward and backward, and what it keeps."""
    order = torch.channels_last if layout == "last" else torch.contiguous_format
    x = torch.empty(shape, device="cuda", dtype=TYPES[kind]).contiguous(memory_format=order)
    weight, bias, mean, variance = (torch.ones(shape[1], device="cuda") for _ in range(4))
    train = lambda: torch.ops.aten.cudnn_batch_norm(x, weight, bias, mean, variance, True, 0.1, 1e-5)
    forward, results = peak_of(train)
    y, saved_mean, saved_variance, reserve = results
    kept = sum(map(bytes_of, (y, saved_mean, saved_variance, reserve)))
    arguments = (x, y, weight, mean, variance, saved_mean, saved_variance, 1e-5, reserve)
    backward, gradients = peak_of(lambda: torch.ops.aten.cudnn_batch_norm_backward(*arguments))
    given = sum(map(bytes_of, gradients))
    return {"norm": [kind, layout, *shape], "bytes": [forward - kept, backward - given, bytes_of(reserve)]}


def recurrent(cell: str, steps: int, batch: int, width: int, hidden: int, layers: int, both: bool) -> dict[str, object]:
    """What a recurrent network keeps, and the peaks of both passes with everything that they return."""
    network = getattr(torch.nn, cell)(width, hidden, layers, bidirectional=both).cuda()
    x = torch.randn(steps, batch, width, device="cuda", requires_grad=True)
    with torch.no_grad():
        inference, _ = peak_of(lambda: network(x))
    forward, (y, _) = peak_of(lambda: network(x))
    gradient = torch.ones_like(y)
    backward, _ = peak_of(lambda: y.backward(gradient))
    return {"rnn": [cell, steps, batch, width, hidden, layers, both], "bytes": [inference, forward, backward]}


def small() -> Iterator[Callable[[], dict[str, object]]]:
    """What is measured first, because it is little."""
    sizes = ((64, 112), (64, 56), (256, 56), (128, 28), (512, 28), (256, 14), (1024, 14), (2048, 7), (40, 14), (16, 112))
    for kind, layout, batch, (channels, size) in itertools.product(("fp32", "fp16"), ("first", "last"), (1, 16, 64), sizes):
        yield lambda k=kind, l=layout, s=(batch, channels, size, size): normalization(k, l, s)
    for cell, steps, batch, hidden, layers, both in itertools.product(
        ("LSTM", "GRU", "RNN"), (10, 64), (8, 64), (128, 512), (1, 2), (False, True)
    ):
        arguments = (cell, steps, batch, 256, hidden, layers, both)
        yield lambda a=arguments: recurrent(*a)


def condense(files: list[pathlib.Path]) -> None:
    """Writes the measured convolutions as the phantom's table: one line for each shape, with its batches."""
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    head = next(line for line in lines if "gpu" in line)
    print(f"# What cuDNN {head['cudnn']} works in on one {head['gpu']}, by PyTorch {head['torch']}; made by gpu/measure_cudnn.py,")
    print("# and from recordings of training with torchvision's models on it, by gpu/compare_plan.py --convolutions.")
    print(f"# type layout {' '.join(COLUMNS)}: batch and bytes forward, of the input's and of the filter's gradient; ...")
    table: dict[tuple[object, ...], dict[int, list[int | None]]] = {}
    for line in (line for line in lines if "conv" in line):
        kind, layout, batch, *shape = line["conv"]
        known = table.setdefault((kind, layout, *shape), {}).setdefault(batch, [None] * 3)
        known[:] = [old if new is None else new for old, new in zip(known, line["bytes"], strict=True)]
    for key, batches in sorted(table.items()):
        print(" ".join(map(str, key)), end=":")
        print(";".join(" ".join("-" if size is None else str(size) for size in (batch, *found)) for batch, found in sorted(batches.items())))


def measure(seconds: float, done: int, log: pathlib.Path | None) -> None:
    start = time.monotonic()
    torch.zeros(1, device="cuda")
    state = torch._cudnn_init_dropout_state(0.5, True, 0, dtype=torch.uint8, device="cuda")
    print(json.dumps({"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "dropout": bytes_of(state)}))
    del state
    convolutions = ((lambda j=job: convolution(j)) for job in jobs(random.Random(0), done))
    work = itertools.chain([] if done else small(), convolutions)
    if log is not None:
        work = ((lambda line=line: logged(line)) for line in log.read_text().splitlines())
    failed = 0
    for number, ask in enumerate(work):
        if time.monotonic() - start > seconds:
            break
        try:
            # Not one job's memory in the way of another's.
            torch.cuda.empty_cache() if torch.cuda.memory_reserved() > 40 << 30 else None
            print(json.dumps(ask(), separators=(",", ":")))
        except RuntimeError as error:
            failed += 1
            print(f"{number}: {str(error).splitlines()[0]}", file=sys.stderr) if failed < 20 else None
    print(f"{number} measured, {failed} failed, {time.monotonic() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=225, help="stop after this time")
    parser.add_argument("--done", type=int, default=0, help="how many shapes of models an earlier run came to")
    parser.add_argument("--collect", action="store_true", help="make gpu/convolutions.csv again")
    parser.add_argument("--table", type=pathlib.Path, nargs="+", help="make the phantom's table of these answers")
    parser.add_argument("--log", type=pathlib.Path, help="lines of OOMPH_PHANTOM_LOG=conv")
    options = parser.parse_args()
    if options.table:
        condense(options.table)
    elif options.collect:
        collect()
    else:
        measure(options.seconds, options.done, options.log)
