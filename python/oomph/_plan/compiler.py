"""`torch.compile` on a GPU that is not there: all of it but the kernels.

Dynamo traces the program, AOTAutograd makes its backward pass, Inductor fuses, plans buffers and writes the code that
allocates them: that code is run. The kernels in it are not compiled, see triton_kernels.py. What Inductor cannot take is
run operation by operation, as Dynamo's graph has it, and said so.
"""

from __future__ import annotations

import atexit
import os
import shutil
from collections.abc import Callable
from typing import Any

from . import shadows, triton_kernels
from .padded_products import is_sure, is_worth_padding, padding

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
