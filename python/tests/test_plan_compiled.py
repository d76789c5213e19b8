"""What `oomph plan` says of compiled programs, of kernels that users write, and of CUDA graphs."""

from __future__ import annotations

import json

import pytest
from oomph._plan.compiler import FALLBACK, GRAPHED, is_sure, is_worth_padding, padding
from programs import Programs
from test_plan import plan

pytest.importorskip("triton", reason="Triton is not installed here")

# Each part prints what it needed at its peak, and what it keeps, in MiB; all in one process, since PyTorch's compiler
# takes seconds to begin.
PARTS = """
import json, torch, triton, triton.language as tl

MIB = 1 << 20
x = torch.ones(16 * MIB, device="cuda")

def say(part, function):
    torch._dynamo.reset()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    kept = function()
    peak, held = torch.cuda.max_memory_allocated() - before, torch.cuda.memory_allocated() - before
    print(json.dumps([part, peak // MIB, held // MIB]), flush=True)

def chain(x):
    return torch.tanh(torch.cos(torch.sin(x) + 1) * 2) - x

@torch.compile
def compiled(x):
    return chain(x)

@torch.compile
def broken(x):
    y = torch.sin(x) + 1
    print("half way")
    return torch.cos(y) * 2 + y

@triton.autotune([triton.Config({"block": 512}), triton.Config({"block": 1024})], key=["count"])
@triton.jit
def double(x, y, count, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < count), mask=at < count)

def own_kernel():
    y = torch.empty_like(x)
    double[lambda meta: (triton.cdiv(x.numel(), meta["block"]),)](x, y, x.numel())
    return y

def graph():
    graph, static = torch.cuda.CUDAGraph(), x.clone()
    with torch.cuda.graph(graph):
        y = chain(static)
    graph.replay()
    return graph, static, y

def fail(graph):
    raise RuntimeError("no such pass")

def fallen_back():
    torch._inductor.config.post_grad_custom_post_pass = fail
    try:
        return torch.compile(lambda x: chain(x) + 1)(x)
    finally:
        torch._inductor.config.post_grad_custom_post_pass = None

def trained():
    layer = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.GELU(), torch.nn.Dropout(0.1)).cuda()
    torch.compile(layer, mode="reduce-overhead")(x.view(-1, 1024)).square().mean().backward()
    return [parameter.grad for parameter in layer.parameters()]

with torch.no_grad():
    say("eager", lambda: chain(x))
    say("compiled", lambda: compiled(x))
    say("broken", lambda: broken(x))
    say("own kernel", own_kernel)
    say("graph", graph)
    say("fallen back", fallen_back)
assert compiled(x[:4096]).shape == (4096,), "the length is known"
say("trained", trained)
"""


def key(
    first: list[int], second: list[int], kind: str, first_is_free: bool, tf32: bool | None = None, second_is_free: bool = True
) -> str:
    """As Inductor describes a product."""
    sides = [f"(torch.Size({size}), (1, 1), torch.{kind})" for size in (first, second)]
    return f"({', '.join(sides)}, 'exclude_pad:{first_is_free}', 'exclude_pad:{second_is_free}', <aten.mm>, None, {tf32})"


@pytest.mark.parametrize(
    ("product", "padded"),
    [
        # BERT's last layer, forward and its two backward products, as an H200 decided.
        (key([6144, 768], [768, 30522], "bfloat16", True), False),
        (key([6144, 30522], [30522, 768], "bfloat16", True), True),
        (key([30522, 6144], [6144, 768], "bfloat16", False), False),
        # GPT-2's, whose size no pair of elements fills.
        (key([4096, 768], [768, 50257], "float16", True), True),
        (key([50257, 4096], [4096, 768], "float16", False), True),
        (key([4096, 768], [768, 50257], "float32", True, False), False),
        (key([4096, 768], [768, 50257], "float32", True, True), True),
        # Windows of a Swin transformer, in five runs of six; twice as many were.
        (key([6144, 49, 49], [6144, 49, 32], "bfloat16", True), False),
        (key([6144, 50, 50], [6144, 50, 64], "bfloat16", True), True),
        # Attention by hand: scores, whose second matrix is turned first, and what they weigh.
        (key([96, 197, 64], [96, 64, 197], "bfloat16", True, None, False), False),
        (key([3072, 197, 64], [3072, 64, 197], "bfloat16", True, None, False), True),
        (key([6144, 50, 64], [6144, 64, 50], "bfloat16", True, None, False), False),
        (key([3072, 77, 77], [3072, 77, 64], "float32", True, True), True),
        (key([3072, 77, 64], [3072, 64, 77], "float32", True, True, False), False),
        (key([3072, 77, 77], [3072, 77, 64], "float32", True, False), False),
        ("not such a key", False),
    ],
)
def test_products_of_odd_sizes_are_padded_where_it_is_worth_it(product: str, padded: bool) -> None:
    assert is_worth_padding(product) is padded


@pytest.mark.parametrize(
    ("product", "sure", "bytes"),
    [
        (key([4096, 768], [768, 50257], "float16", True), True, 768 * 50264 * 2),
        # Windows of a Swin transformer: an H200 padded them in one run of a program and not in another.
        (key([6144, 49, 49], [6144, 49, 32], "bfloat16", True), False, 6144 * 56 * 56 * 2),
        (key([6144, 49, 49], [6144, 49, 32], "float32", True, True), False, 6144 * 52 * 52 * 4),
        # Without tensor cores none is.
        (key([6144, 49, 49], [6144, 49, 32], "float32", True, False), True, 6144 * 52 * 52 * 4),
        ("not such a key", True, 0),
    ],
)
def test_of_many_small_products_at_once_it_is_not_known_whether_they_are_padded(product: str, sure: bool, bytes: int) -> None:
    assert (is_sure(product), padding(product)) == (sure, bytes)


def test_what_is_compiled_takes_what_the_compiler_leaves(programs: Programs) -> None:
    done = plan(programs, PARTS, "--gpu", "L4", "--json", is_warm=False)
    assert done.code == 0, done.stderr
    lines = (json.loads(line) for line in done.stderr.splitlines() if line.startswith("["))
    found = {part: (peak, kept) for part, peak, kept in lines}
    assert found == {
        # Two results of 64 MiB at a time.
        "eager": (128, 64),
        # One, and the 48 MiB that Inductor times its kernels with on this card.
        "compiled": (112, 64),
        # What crosses the break is kept until the end.
        "broken": (176, 64),
        # The 256 MiB that Triton times kernels with.
        "own kernel": (320, 64),
        # A copy of the input, and the pool of the graph, of which the result is the half.
        "graph": (192, 128),
        # As the compiler's graph has it, operation by operation.
        "fallen back": (128, 64),
        # Forward and backward as graphs; what they need was found exact on an H200, by gpu/planned.py.
        "trained": (404, 4),
    }
    assert done.json()["caveats"] == [GRAPHED, FALLBACK]
