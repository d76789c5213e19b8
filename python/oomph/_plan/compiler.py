"""`torch.compile` on a GPU that is not there: all of it but the kernels.

Dynamo traces the program, AOTAutograd makes its backward pass, Inductor fuses, plans buffers and writes the code that
allocates them: that code is run. The kernels in it are not compiled, see triton_kernels.py. What Inductor cannot take is
run operation by operation, as Dynamo's graph has it, and said so.
"""

from __future__ import annotations

import atexit
import math
import os
import re
import shutil
from collections.abc import Callable
from typing import Any

from . import shadows, triton_kernels

# Read as PyTorch is imported. Kernels are not compiled, so no processes are needed for that.
VARIABLES = {
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
    "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
}
FALLBACK = (
    "torch.compile: a part of the program could not be compiled here and was planned operation by operation; "
    "it may need up to twice as much as compiled"
)
TUNED = (
    "torch.compile: kernels were not timed, so max-autotune takes PyTorch's own matrix products; where the card prefers "
    "others, the peak may be a few percent lower"
)
PADDED = (
    "torch.compile: matrix products of odd sizes were not timed, but taken to be padded where tensor cores compute them; "
    "without that they need other memory, by a few percent"
)
GRAPHED = (
    "CUDA graphs: what their pools hold depends on addresses; it was found exact or up to 6% more than planned, without what "
    "the driver keeps for a graph"
)
CONVOLVED = (
    "torch.compile: compiled convolutions have channels last, of which few shapes were measured; what is held was found up to 1% "
    "more than planned"
)


def set_up(folder: str) -> Callable[[], None]:
    """What the compiler reads from the environment. Its files go into a folder of this run: real runs must not find them,
    and a first run, which times kernels in buffers of its own, is what is planned. Gives what removes them."""
    files = os.path.join(folder, f"compiled-{os.getpid()}")
    os.environ.update(VARIABLES, TORCHINDUCTOR_CACHE_DIR=files, TRITON_CACHE_DIR=os.path.join(files, "triton"))

    def remove() -> None:
        shutil.rmtree(files, ignore_errors=True)

    atexit.register(remove)
    return remove


class Compiler:
    """Prepares PyTorch's compiler, once it is asked for."""

    def __init__(self, torch: Any, stage_kind: type, remarks: list[str], before: Callable[[], None]) -> None:
        self._torch = torch
        self._before = before
        self._stage_kind = stage_kind
        self._remarks = remarks
        self.is_used = False
        # The most that padding one product takes, where an H200 was not seen to decide about its like.
        self.doubted = 0
        self._watch()

    def _watch(self) -> None:
        import functools

        original = self._torch.compile

        @functools.wraps(original)
        def compile(*args: Any, **kwargs: Any) -> Any:
            self.prepare()
            return original(*args, **kwargs)

        self._torch.compile = compile
        graph = self._torch.cuda.CUDAGraph
        begin = graph.capture_begin

        @functools.wraps(begin)
        def capture_begin(*args: Any, **kwargs: Any) -> Any:
            self._remarks.append(GRAPHED)
            return begin(*args, **kwargs)

        graph.capture_begin = capture_begin

    def prepare(self) -> None:
        if self.is_used:
            return
        self.is_used = True
        self._before()
        try:
            self._hide_stage()
            self._doubt_what_changes()
            self._spare_kernels()
            self._catch_failures()
            self._choose_at_once()
            self._pad_at_once()
        except (ImportError, AttributeError) as error:
            # A PyTorch whose compiler has other parts than those that are known here.
            self._torch._dynamo.config.disable = True
            self._remarks.append(f"torch.compile: planned without it ({error}); it needs other memory")

    def _hide_stage(self) -> None:
        """Dynamo traces the program, and not what watches it. Its guards go on seeing both."""
        from torch._dynamo import trace_rules
        from torch._dynamo.variables import torch_function

        # What a graph break leaves to Python calls us, and Dynamo looks at each function anew.
        trace_rules.add(str(__package__))
        original = torch_function.SymbolicTorchFunctionState.__init__

        def init(state: Any, py_stack: Any) -> None:
            stack = list(py_stack)
            original(state, stack)
            for place, mode in reversed(list(enumerate(stack))):
                if isinstance(mode, self._stage_kind):
                    del state.mode_stack[place]

        torch_function.SymbolicTorchFunctionState.__init__ = init
        utils = self._torch._dynamo.utils
        set_stack = utils.set_torch_function_mode_stack

        def set_above_stage(stack: Any) -> None:
            """What compiled code calls that enters or leaves modes of its own."""
            stages = [mode for mode in utils.get_torch_function_mode_stack() if isinstance(mode, self._stage_kind)]
            set_stack([*stages, *(mode for mode in stack if not isinstance(mode, self._stage_kind))])

        utils.set_torch_function_mode_stack = set_above_stage

    def _doubt_what_changes(self) -> None:
        """Compiled code changes tensors in place where nobody sees it, and says so when it has."""
        graph = self._torch.autograd.graph
        original = graph.increment_version

        def increment_version(tensor: Any) -> None:
            changed = [tensor] if isinstance(tensor, self._torch.Tensor) else list(tensor)
            shadows.doubt(changed)
            original(changed)

        graph.increment_version = increment_version

    def _spare_kernels(self) -> None:
        from torch._inductor.runtime import benchmarking, triton_heuristics

        triton_heuristics.CachingAutotuner._precompile_config = lambda _, config: Uncompiled(config)
        for kind in (benchmarking.InductorBenchmarker, benchmarking.TritonBenchmarker):
            # Each takes buffers of its own, which stay in the cache of the allocator.
            has_its_own = kind is benchmarking.InductorBenchmarker
            kind.benchmark_gpu = _time_with_cache if has_its_own else _time_with_triton

    def _catch_failures(self) -> None:
        from torch._inductor import compile_fx

        original = compile_fx._compile_fx_inner

        convolution = self._torch.ops.aten.convolution.default

        def compile_or_not(graph: Any, inputs: Any, **kwargs: Any) -> Any:
            if any(node.target is convolution for node in graph.graph.nodes):
                self._remarks.append(CONVOLVED)
            try:
                return original(graph, inputs, **kwargs)
            except Exception:
                self._remarks.append(FALLBACK)
                return self._as_it_is(graph)

        compile_fx._compile_fx_inner = compile_or_not

    def _as_it_is(self, graph: Any) -> Callable[..., Any]:
        from torch._functorch.aot_autograd import make_boxed_func

        made: Callable[..., Any] = make_boxed_func(graph.forward)
        return made

    def _choose_at_once(self) -> None:
        """Where one of several ways to compute a product is to be chosen by timing them, it is the first."""
        from torch._inductor import select_algorithm

        original = select_algorithm.AlgorithmSelectorCache.__call__

        def choose(cache: Any, name: Any, choices: Any, *args: Any, **kwargs: Any) -> Any:
            if len(choices) > 1:
                self._remarks.append(TUNED)
            return original(cache, name, choices, *args, **kwargs)

        select_algorithm.AlgorithmSelectorCache.__call__ = choose

    def _pad_at_once(self) -> None:
        """Products whose sizes are odd are timed with and without padding."""
        from torch._inductor.fx_passes import pad_mm

        def is_padded_faster(key: str, ori_time: float, pad_time: float) -> bool:
            self._remarks.append(PADDED)
            is_faster = is_worth_padding(key)
            if not is_sure(key):
                self.doubted = max(self.doubted, padding(key))
            pad_mm.set_cached_should_pad(key, is_faster)
            return is_faster

        pad_mm.is_padded_faster = is_padded_faster


# What many products at once read and write, from which on padding them was seen to be quicker: where nothing is copied for
# it, and where it is. With less, launching the copies takes longer than the products do.
BATCHED = {2: (70e6, 85e6), 4: (120e6, math.inf)}


def is_worth_padding(key: str) -> bool:
    """Whether a product is quicker padded, as an H200 was seen to find: `key` has the sizes and types of its matrices, and
    whose padding costs nothing. Tensor cores want rows of 16 bytes. They are slowest with rows that no pair of elements
    fills; with others the copy is worth it only where it is free and the inner size is the odd one."""
    sizes = _sizes(key)
    if len(sizes) < 2 or not _has_tensor_cores(key):
        return False
    sides = [*sizes[0][-2:], sizes[1][-1]]
    if len(sizes[0]) > 2:
        return _is_worth_padding_all(key, sizes[0][0], sides)
    is_inner_free = sides[1] % 8 != 0 and key.partition("exclude_pad:")[2].startswith("True")
    return any(side % 2 for side in sides) or is_inner_free


def _is_worth_padding_all(key: str, count: int, sides: list[int]) -> bool:
    """The same for many products at once."""
    rows, inner, columns = sides
    width = _width(key)
    moved = count * (rows * inner + inner * columns + rows * columns) * width
    free, copied = BATCHED[width]
    if key.count("exclude_pad:True") == 2:
        return moved > free
    return moved > copied and any(side % 2 for side in sides)


def is_sure(key: str) -> bool:
    """Whether an H200 always decided so about products of this kind. About many small ones at once it does not: padding and
    computing take nearly as long, and two runs of one program differ."""
    return not _has_tensor_cores(key) or all(len(size) < 3 for size in _sizes(key))


def padding(key: str) -> int:
    """The bytes of the larger of two matrices when it is padded, which is what a copy of it takes."""
    width = _width(key)
    # Rows of 16 bytes.
    step = 16 // width
    padded = [size[:-2] + [side + -side % step for side in size[-2:]] for size in _sizes(key)]
    return max((math.prod(size) * width for size in padded), default=0)


def _sizes(key: str) -> list[list[int]]:
    """Of both matrices."""
    found = re.findall(r"Size\(\[([\d, ]+)\]\)", key)[:2]
    return [[int(side) for side in size.split(",") if side.strip()] for size in found]


def _width(key: str) -> int:
    """Of an element, in bytes."""
    return 2 if "float16" in key else 4


def _has_tensor_cores(key: str) -> bool:
    return "float16" in key or key.endswith("True)")


class Uncompiled:
    """The result of compiling a kernel, for Inductor."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.kernel = triton_kernels.Kernel()

    def make_launcher(self) -> Callable[..., None]:
        def launcher(*args: Any, **kwargs: Any) -> None:
            pass

        kernel = {"n_regs": self.kernel.n_regs, "n_spills": 0, "shared": 0}
        vars(launcher).update(kernel, config=self.config, store_cubin=False, cache_hash="")
        return launcher


def _time_with_cache(benchmarker: Any, function: Callable[[], Any], *args: Any, **kwargs: Any) -> Any:
    import torch

    function()
    buffer = torch.empty(benchmarker.L2_cache_size // 4, dtype=torch.int, device="cuda")
    function()
    del buffer
    return [triton_kernels.TIME_MS] if kwargs.get("return_mode") == "all" else triton_kernels.TIME_MS


def _time_with_triton(benchmarker: Any, function: Callable[[], Any], *args: Any, **kwargs: Any) -> Any:
    triton_kernels.time_once(function)
    return triton_kernels.TIME_MS
