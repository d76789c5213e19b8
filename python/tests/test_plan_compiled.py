"""What `oomph plan` says of compiled programs, of kernels that users write, and of CUDA graphs."""

from __future__ import annotations

import json
import pathlib

import pytest
from oomph._plan.compiler import FALLBACK, GRAPHED
from oomph._plan.padded_products import is_sure, is_worth_padding, padding
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


MEASURED = [json.loads(line) for line in (pathlib.Path(__file__).parent / "measured/padding.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("of", "share"),
    # The card's own timings of small products differ from run to run: those of programs count.
    [("linear", 0.93), ("batched", 0.78), ("compiled_", 0.97)],
)
def test_products_are_padded_where_a_card_found_it_worth_it(of: str, share: float) -> None:
    rows = [row for row in MEASURED if row["of"].startswith(of)]
    right = sum(is_worth_padding(row["key"]) == row["is_padded"] for row in rows)
    assert len(rows) > 40 and right >= share * len(rows)


def test_what_is_no_product_of_tensor_cores_is_not_padded() -> None:
    assert not is_worth_padding("not such a key")
    assert is_worth_padding(key([4096, 768], [768, 50257], "float32", True, True))
    assert not is_worth_padding(key([4096, 768], [768, 50257], "float32", True, False))


@pytest.mark.parametrize(
    ("product", "sure", "bytes"),
    [
        (key([4096, 768], [768, 50257], "float16", True), True, 768 * 50264 * 2),
        # Windows of a Swin transformer: an H200 padded them in one run of a program and not in another.
        (key([12288, 49, 49], [12288, 49, 32], "bfloat16", True), False, 12288 * 56 * 56 * 2),
        (key([6144, 49, 49], [6144, 49, 32], "float32", True, True), False, 6144 * 52 * 52 * 4),
        (key([3072, 49, 49], [3072, 49, 32], "bfloat16", True), True, 3072 * 56 * 56 * 2),
        # Nearly as quick either way.
        (key([30522, 512], [512, 768], "float16", False, None, False), False, 30528 * 512 * 2),
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
