"""What cuFFT, cuSPARSE and cuSOLVER work in: the requests that PyTorch makes of its allocator in one operation of theirs.

    python gpu/measure_libraries.py [--seconds 90] > libraries.jsonl

needs torch and a GPU. On the phantom the same script prints the requests there: a workspace is what one has and the other lacks.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

Case = tuple[str, list[Any], Callable[[], Any]]


def requests(work: Callable[[], Any]) -> list[int]:
    """The sizes in bytes that are asked for, in order."""
    torch.cuda.memory._record_memory_history("all", context=None, clear_history=True)
    work()
    trace = next((trace for trace in torch.cuda.memory._snapshot()["device_traces"] if trace), [])
    return [event["size"] for event in trace if event["action"] == "alloc"]


def complex_of(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, device="cuda", dtype=torch.complex64)


def real_of(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, device="cuda")


def transforms() -> Iterator[Case]:
    lengths = (64, 97, 127, 256, 400, 441, 512, 800, 1000, 1001, 1024, 1155, 1200, 2048, 4096, 8192, 16000, 16384, 32768, 44100,
               65536, 65537, 131072, 1 << 20)  # fmt: skip
    fft = torch.fft
    for batch, length in itertools.product((1, 8, 500, 4000), lengths):
        if batch * length > 1 << 27:
            continue
        yield "r2c", [batch, length], lambda b=batch, n=length: fft.rfft(real_of(b, n))
        yield "c2r", [batch, length], lambda b=batch, n=length: fft.irfft(complex_of(b, n // 2 + 1), n)
        yield "c2c", [batch, length], lambda b=batch, n=length: fft.fft(complex_of(b, n))
    planes = ((14, 14), (32, 32), (33, 65), (64, 64), (100, 100), (128, 128), (224, 224), (256, 256), (421, 421), (512, 512), (1024, 1024))
    for batch, (height, width) in itertools.product((1, 16, 640), planes):
        if batch * height * width > 1 << 27:
            continue
        size = [batch, height, width]
        yield "r2c", size, lambda s=size: fft.rfft2(real_of(*s))
        yield "c2r", size, lambda s=size: fft.irfft2(complex_of(s[0], s[1], s[2] // 2 + 1), s=s[1:])
        yield "c2c", size, lambda s=size: fft.fft2(complex_of(*s))
    for batch, size in itertools.product((1, 8), ((16, 16, 16), (32, 32, 32), (64, 64, 64), (20, 100, 100))):
        yield "r2c", [batch, *size], lambda s=(batch, *size): fft.rfftn(real_of(*s), dim=(1, 2, 3))
        yield "c2r", [batch, *size], lambda s=(batch, *size): fft.irfftn(complex_of(*s[:3], s[3] // 2 + 1), s=s[1:], dim=(1, 2, 3))
        yield "c2c", [batch, *size], lambda s=(batch, *size): fft.fftn(complex_of(*s), dim=(1, 2, 3))
    # Along a dimension that is not the last, and pictures with channels last.
    for batch, length, width in ((8, 512, 768), (16, 128, 256), (4, 1000, 64), (32, 14, 384)):
        yield "r2c dim 1", [batch, length, width], lambda s=(batch, length, width): fft.rfft(real_of(*s), dim=1)
        yield "c2c dim 1", [batch, length, width], lambda s=(batch, length, width): fft.fft(complex_of(*s), dim=1)
        yield "c2c dims 1 2", [batch, length, width], lambda s=(batch, length, width): fft.fft2(complex_of(*s))
        yield "r2c dims 1 2", [batch, 14, 8, width], lambda s=(batch, 14, 8, width): fft.rfft2(real_of(*s), dim=(1, 2))
        yield "c2r dims 1 2", [batch, 14, 8, width], lambda s=(batch, 14, 8, width): fft.irfft2(complex_of(*s), dim=(1, 2))
    for samples in (16000, 80000, 480000):
        window = torch.hann_window(400, device="cuda")
        yield "stft", [8, samples], lambda n=samples, w=window: torch.stft(real_of(8, n), 400, 160, window=w, return_complex=True)


def sparse() -> Iterator[Case]:
    for size, edges, width, kind in itertools.product((1000, 100_000), (10_000, 1_000_000), (16, 128, 500), ("coo", "csr")):
        at = torch.arange(edges, device="cuda")
        places = torch.stack([(at * 7919) % size, (at * 104729) % size])
        # Made beforehand: only the product counts.
        graph = torch.sparse_coo_tensor(places, torch.ones(edges, device="cuda"), (size, size)).coalesce()
        graph = graph.to_sparse_csr() if kind == "csr" else graph
        dense = real_of(size, width)
        yield f"spmm {kind}", [size, graph._nnz(), width], lambda g=graph, d=dense: torch.sparse.mm(g, d)
        yield f"spmv {kind}", [size, graph._nnz()], lambda g=graph, d=dense: torch.mv(g, d[:, 0].contiguous())
        if kind == "csr" and edges <= 10_000:
            yield "spgemm csr", [size, graph._nnz()], lambda g=graph: g @ g


def solvers() -> Iterator[Case]:
    linalg = torch.linalg
    names = ("cholesky", "inv", "eigh", "eigvalsh", "qr", "lu_factor", "slogdet", "svd", "svdvals", "pinv")
    for batch, size in itertools.product((0, 1, 8, 64), (8, 16, 32, 64, 128, 256, 512, 1024, 2048)):
        if batch * size > 8192:
            continue
        shape = (batch, size, size) if batch else (size, size)
        torch.manual_seed(size)
        a = torch.randn(shape, device="cuda")
        a = a @ a.mT + size * torch.eye(size, device="cuda")
        for name in names:
            if "sv" in name and batch * size > 1024:
                continue
            yield name, list(shape), lambda f=getattr(linalg, name), a=a: f(a)
        b = torch.ones(*shape[:-1], 4, device="cuda")
        yield "solve", list(shape), lambda a=a, b=b: linalg.solve(a, b)
        yield "cholesky_solve", list(shape), lambda a=a, b=b: torch.cholesky_solve(b, a)
        yield "cholesky_inverse", list(shape), lambda a=a: torch.cholesky_inverse(a)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=90, help="for each of the three libraries")
    seconds = parser.parse_args().seconds
    torch.zeros(1, device="cuda")
    for cases in (transforms(), sparse(), solvers()):
        began = time.monotonic()
        for name, shape, work in cases:
            row: dict[str, Any] = {"what": name, "shape": shape}
            try:
                row["requests"] = requests(work)
            except RuntimeError as error:
                row["error"] = str(error).splitlines()[0]
            print(json.dumps(row, separators=(",", ":")), flush=True)
            if time.monotonic() - began > seconds:
                print(f"after {name} {shape} the time was over", file=sys.stderr)
                break


if __name__ == "__main__":
    main()
