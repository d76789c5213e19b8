"""Which matrix products of odd sizes torch.compile pads on this GPU: it times them, and the phantom cannot.

    python3 gpu/measure_padding.py linear [--seconds 100]     # heads of language models
    python3 gpu/measure_padding.py batched [--seconds 100]    # many small products at once, as attention by hand has them
    python3 gpu/measure_padding.py of SCRIPT ARGS...          # those of a program

It needs torch and a GPU. Each line is one product: its sizes, its type, how long it took as it is and padded, in ms, and
what was decided. A product that is bound by memory is not timed and not padded: its line says so. After a program its peaks
follow.
"""

from __future__ import annotations

import argparse
import itertools
import json
import runpy
import sys
import time
import zlib
from collections.abc import Iterator
from typing import Any

import torch
from torch._inductor.fx_passes import pad_mm

WORDS = (13, 37, 119, 301, 1001, 5003, 50257, 30522, 32100, 50265, 250002)
WIDTHS = (768, 1024, 2048, 4096)
TOKENS = (64, 256, 1024, 4096, 6144, 8192)
TYPES = (torch.bfloat16, torch.float16, torch.float32)

# How many products at once, tokens, and the width of a head.
HEADS = (96, 384, 768, 1536, 3072, 6144)
LENGTHS = (49, 50, 65, 77, 100, 145, 197, 257, 577)
HEAD_WIDTHS = (32, 64, 80)

decide = pad_mm.is_padded_faster
is_bound = pad_mm.is_mm_compute_bound


def say(**row: Any) -> None:
    print(json.dumps(row), file=out, flush=True)


def noted(key: str, ori_time: float, pad_time: float) -> bool:
    decided: bool = decide(key, ori_time, pad_time)
    say(key=key, plain=ori_time, padded=pad_time, is_padded=decided)
    return decided


def bound(m: int, k: int, n: int, dtype: torch.dtype) -> bool:
    found: bool = is_bound(m, k, n, dtype)
    if not found:
        say(not_timed=[m, k, n], dtype=str(dtype))
    return found


def in_any_order(cases: Iterator[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """So that the first hundred are of all kinds; the order is the same every time."""
    return sorted(cases, key=lambda case: zlib.crc32(repr(case).encode()))


def linear(seconds: float) -> None:
    began = time.monotonic()
    for kind, words, width, tokens in in_any_order(itertools.product(TYPES, WORDS, WIDTHS, TOKENS)):
        if time.monotonic() - began > seconds:
            break
        torch._dynamo.reset()
        layer = torch.nn.Linear(width, words, bias=False, device="cuda", dtype=kind)
        x = torch.randn(tokens, width, device="cuda", dtype=kind, requires_grad=True)
        torch.compile(lambda x: layer(x).float().logsumexp(1).sum(), dynamic=False)(x).backward()


def batched(seconds: float) -> None:
    """Scores of attention and what they weigh, both made in the graph."""

    def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        scores = (query * 0.1) @ (key + 1).transpose(1, 2)
        return scores.softmax(-1) @ (value + 1)

    began = time.monotonic()
    for kind, heads, length, width in in_any_order(itertools.product(TYPES, HEADS, LENGTHS, HEAD_WIDTHS)):
        if heads * length * length > 1 << 28:
            continue
        if time.monotonic() - began > seconds:
            break
        torch._dynamo.reset()
        parts = [torch.randn(heads, length, width, device="cuda", dtype=kind) for _ in range(3)]
        torch.compile(attend, dynamic=False)(*parts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["linear", "batched", "of"])
    parser.add_argument("--seconds", type=float, default=100.0)
    options, words = parser.parse_known_args()
    # A program may print what it likes.
    out, sys.stdout = sys.stdout, sys.stderr
    pad_mm.is_padded_faster, pad_mm.is_mm_compute_bound = noted, bound
    properties: Any = torch.cuda.get_device_properties(0)
    say(gpu=properties.name, cache=properties.L2_cache_size, torch=torch.__version__)
    if options.what == "of":
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")
        stats = torch.cuda.memory_stats()
        say(**{f"peak_{kind}": stats[f"{kind}_bytes.all.peak"] for kind in ("requested", "allocated", "reserved")})
    else:
        torch.backends.cuda.matmul.allow_tf32 = True
        (linear if options.what == "linear" else batched)(options.seconds)
