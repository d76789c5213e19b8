"""PyTorch's own code on a GPU that is not there: the libraries that it calls are answered for, or said to be lacking."""

from __future__ import annotations

import json
import os
import pathlib
import struct
import subprocess
from collections import Counter
from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed here")

LIBRARIES = ("cublas", "cudnn", "cusolver", "cusparse", "cufft", "nccl")
# What speaks only of versions and of errors is left to the libraries themselves.
REAL = {
    "cudnnGetCudartVersion",
    "cudnnGetErrorString",
    "cudnnGetLastErrorString",
    "cudnnGetProperty",
    "cudnnGetVersion",
    "cusparseGetErrorString",
    "ncclGetErrorString",
    "ncclGetLastError",
    "ncclGetVersion",
}


@pytest.fixture(scope="module")
def library(phantom: str) -> pathlib.Path:
    return pathlib.Path(phantom)


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(library: pathlib.Path, warm_python: str) -> Run:
    """Runs code on the phantom."""

    def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [warm_python, "-c", code],
            env={**os.environ, "LD_PRELOAD": str(library), **environment},
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


def symbols(path: pathlib.Path) -> tuple[set[str], set[str]]:
    """The names that a library of 64-bit ELF defines, and those that it wants from others."""
    with path.open("rb") as file:
        head = file.read(64)
        (start,), (size, count) = struct.unpack_from("<Q", head, 40), struct.unpack_from("<HH", head, 58)
        file.seek(start)
        sections = [struct.unpack_from("<IIQQQQIIQQ", file.read(size)) for _ in range(count)]
        table = next(section for section in sections if section[1] == 11)
        file.seek(table[4])
        entries = file.read(table[5])
        names = sections[table[6]]
        file.seek(names[4])
        text = file.read(names[5])
    defined: set[str] = set()
    wanted: set[str] = set()
    for name, info, _, section, _, _ in struct.iter_unpack("<IBBHQQ", entries):
        if info >> 4 in (1, 2):
            (wanted if section == 0 else defined).add(text[name : text.index(b"\0", name)].decode())
    return defined, wanted


def test_every_function_of_cuda_libraries_that_pytorch_wants_is_there(library: pathlib.Path) -> None:
    folder = pathlib.Path(torch.__file__).parent / "lib"
    present = [folder / f"libtorch_{part}.so" for part in ("cuda", "cuda_linalg", "python")]
    wanted = {name for path in present if path.exists() for name in symbols(path)[1]}
    if "cublasCreate_v2" not in wanted:
        pytest.skip("this PyTorch is built without CUDA")
    defined, _ = symbols(library)
    assert sorted(name for name in wanted - defined - REAL if name.startswith(LIBRARIES)) == []
    assert sorted(defined & REAL) == []


def test_the_version_of_a_library_that_is_loaded_is_its_own(run: Run) -> None:
    code = """
import ctypes, torch
real = next(line.split()[-1] for line in open("/proc/self/maps") if "/libcublasLt.so" in line)
print(*(ctypes.CDLL(name).cublasLtGetVersion() for name in (None, real)))
"""
    first, second = run(code).stdout.split()
    assert first == second and int(first) > 120_000


STEP = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 4, 4, groups=2))
        self.turn = nn.Conv2d(64, 64, 3, dilation=2)
        self.mix = nn.MultiheadAttention(64, 4, batch_first=True)
        self.last = nn.Linear(64, 10)
    def forward(self, x):
        x = self.turn(self.front(x)).flatten(2).transpose(1, 2)
        return self.last(self.mix(x, x, x, need_weights=False)[0].mean(1))
kind = {kind}
net = Net().cuda().to(memory_format={order})
best = torch.optim.AdamW(net.parameters())
for _ in range(2):
    x = torch.randn(8, 3, 64, 64, device="cuda").to(memory_format={order})
    with torch.autocast("cuda", kind, enabled=kind is not None):
        loss = nn.functional.cross_entropy(net(x), torch.zeros(8, dtype=torch.long, device="cuda"))
    loss.backward()
    best.step()
    best.zero_grad()
print(torch.cuda.max_memory_allocated() > 8 * 32 * 64 * 64 * 2)
"""


@pytest.mark.parametrize("order", ["torch.contiguous_format", "torch.channels_last"])
@pytest.mark.parametrize("kind", ["None", "torch.float16", "torch.bfloat16"])
def test_a_step_of_training_runs(run: Run, kind: str, order: str) -> None:
    done = run(STEP.replace("{kind}", kind).replace("{order}", order))
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


@pytest.mark.parametrize("kind", ["torch.float16", "torch.bfloat16"])
def test_attention_goes_through_cudnn_as_on_a_card_that_prefers_it(run: Run, kind: str) -> None:
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 5):
        pytest.skip("this PyTorch has cuDNN's attention switched off")
    code = f"""
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
q = torch.randn(2, 4, 128, 64, device="cuda", dtype={kind}, requires_grad=True)
with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
    o = torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
    o.backward(torch.ones_like(o))
print(tuple(q.grad.shape))
"""
    done = run(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "(2, 4, 128, 64)\n", "")


@pytest.mark.parametrize("cell", ["LSTM", "GRU", "RNN"])
def test_a_recurrent_network_learns(run: Run, cell: str) -> None:
    code = f"""
import torch
net = torch.nn.{cell}(24, 32, 2, bidirectional=True, dropout=0.1).cuda()
y, _ = net(torch.randn(5, 3, 24, device="cuda"))
y.sum().backward()
print(tuple(y.shape), all(p.grad.shape == p.shape for p in net.parameters()))
"""
    done = run(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "(5, 3, 64) True\n", "")


@pytest.mark.parametrize(
    ("code", "function", "owner"),
    [
        ("torch.linalg.ldl_factor(torch.ones(4, 4, device='cuda'))", "cusolverDnSsytrf_bufferSize", "cuSOLVER"),
        (
            "o = torch.ones(2, device='cuda'); i = torch.tensor([0, 1, 2], device='cuda')\n"
            "one = torch.sparse_csr_tensor(i, i[:2], o, (2, 2)); one @ one",
            "cusparseSpGEMM_createDescr",
            "cuSPARSE",
        ),
    ],
)
def test_a_library_that_is_lacking_is_named(run: Run, code: str, function: str, owner: str) -> None:
    done = run(f"import torch\n{code}")
    expected = (
        f"oomph: the program calls {function} of {owner}, which the phantom GPU does not have: run this part on the CPU, "
        "or measure it on a GPU with `oomph run`"
    )
    assert done.returncode == 1
    assert expected in done.stderr.splitlines(), done.stderr
    assert "RuntimeError" in done.stderr


def test_transforms_and_decompositions_ask_for_what_they_ask_for_on_a_card(run: Run) -> None:
    here = pathlib.Path(__file__).parent
    rows = [json.loads(line) for line in (here / "measured/libraries.jsonl").read_text().splitlines()]
    script = here.parents[1] / "gpu/measure_libraries.py"
    done = run(f"import runpy, sys; sys.argv = ['measure']; runpy.run_path({str(script)!r}, run_name='__main__')")
    ours = {(row["what"], *row["shape"]): row.get("requests") for row in map(json.loads, done.stdout.splitlines())}
    found: Counter[str] = Counter()
    for row in rows:
        requests, measured = ours[row["what"], *row["shape"]], row["requests"]
        assert requests is not None and len(requests) == len(measured), (row, done.stderr)
        off = max(abs(one - other) for one, other in zip(requests, measured))
        found["the same" if off == 0 else "to a KiB" if off <= 1024 else "to a percent" if off <= max(measured) / 100 else str(row)] += 1
    assert found == {"the same": 756, "to a KiB": 34, "to a percent": 9}


def test_convolutions_are_shown_where_they_are_asked_for(run: Run) -> None:
    code = "import torch; torch.nn.Conv2d(3, 8, 3, stride=2).cuda()(torch.ones(2, 3, 9, 9, device='cuda'))"
    done = run(code, OOMPH_PHANTOM_LOG="conv")
    line = "oomph conv: forward fp32 nchw x=2x3x9x9 w=8x3x3x3 y=2x8x4x4 pad=0x0 stride=2x2 dilation=1x1 groups=1 bytes="
    assert done.returncode == 0
    assert [shown[: len(line)] for shown in done.stderr.splitlines()] == [line]
