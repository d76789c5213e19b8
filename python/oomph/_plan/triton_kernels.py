"""Triton on a GPU that is not there: no kernel is compiled, none is launched, and whoever times one has its answer at once.

What a kernel needs of the card's memory is allocated by whoever launches it, so nothing of it is lost. Buffers that
timing itself takes are taken here too.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

# Milliseconds that every kernel takes: where several are timed, the first is the quickest.
TIME_MS = 1.0


class Kernel:
    """A compiled kernel, as far as programs look at one."""

    # More than leave room for all threads of a multiprocessor, as most reductions need: Inductor then tries smaller blocks.
    n_regs = 48
    n_spills = 0
    n_max_threads = 1024
    hash = "none"
    function = 0
    asm: dict[str, Any] = {}
    metadata = SimpleNamespace(shared=1024, num_warps=4, num_stages=3, num_ctas=1, name="kernel")

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return lambda *args, **kwargs: None

    def _init_handles(self) -> None:
        pass


def silence(triton: Any) -> None:
    """From here on, Triton's kernels do nothing."""
    from importlib import import_module

    jit = import_module("triton.runtime.jit")
    kernel = Kernel()

    def run(self: Any, *args: Any, grid: Any = None, warmup: bool = False, **kwargs: Any) -> Kernel:
        for hook in getattr(self, "pre_run_hooks", ()):
            hook(*args, **kwargs)
        return kernel

    jit.JITFunction.run = run
    testing: Any = import_module("triton.testing")
    testing.do_bench = time_once
    testing.do_bench_cudagraph = lambda fn, *args, **kwargs: _summary(fn, kwargs)
    try:
        nvidia = import_module("triton.backends.nvidia.driver")
    except ImportError:
        return
    # It would build a C extension against NVIDIA's driver.
    nvidia.CudaUtils.__init__ = _prepare_utils


def _prepare_utils(self: Any) -> None:
    self.load_binary = lambda *args: (0, 0, Kernel.n_regs, Kernel.n_spills, Kernel.n_max_threads)
    self.get_device_properties = _properties
    self.cuOccupancyMaxActiveClusters = lambda *args: 1
    self.set_printf_fifo_size = lambda *args: None
    self.fill_tma_descriptor = lambda *args: None
    self.fill_1d_tma_descriptor = self.fill_2d_tma_descriptor = self.fill_tma_descriptor


def _properties(device: int) -> dict[str, int]:
    import torch

    found = torch.cuda.get_device_properties(device)
    return {
        "max_shared_mem": int(getattr(found, "shared_memory_per_block_optin", 48 << 10)),
        "max_num_regs": int(getattr(found, "regs_per_multiprocessor", 65536)),
        "multiprocessor_count": int(found.multi_processor_count),
        "warpSize": 32,
        "sm_clock_rate": 1_500_000,
        "mem_clock_rate": 1_500_000,
        "mem_bus_width": 4096,
    }


def time_once(fn: Callable[[], Any], *args: Any, **kwargs: Any) -> Any:
    """`triton.testing.do_bench`: the kernel is called once without and once with the buffer that flushes the cache."""
    from importlib import import_module

    fn()
    buffer = import_module("triton.runtime").driver.active.get_empty_cache_for_benchmark()
    found = _summary(fn, kwargs)
    del buffer
    return found


def _summary(fn: Callable[[], Any], kwargs: dict[str, Any]) -> Any:
    fn()
    quantiles = kwargs.get("quantiles")
    if quantiles is not None:
        return [TIME_MS] * len(quantiles) if len(quantiles) > 1 else TIME_MS
    return [TIME_MS] if kwargs.get("return_mode") == "all" else TIME_MS
