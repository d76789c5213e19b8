"""Versions and devices, as each framework tells them."""

from __future__ import annotations

import platform
import sys
from typing import Any

from . import nvml
from .cuda import Peaks

Description = tuple[dict[str, str], list[dict[str, Any]]]


def describe(framework: str | None, recorded: Any, peaks: Peaks, is_brief: bool) -> Description:
    """Versions and the devices in use. `recorded` is torch's CUDA (`cuda.as_imported`), if its allocator is being recorded.
    Nothing is initialised for it: only what the program has started is asked."""
    torch: Any = sys.modules.get("torch")
    versions = {"python": platform.python_version()}
    devices: list[dict[str, Any]] = []
    if hasattr(torch, "version") and hasattr(torch, "__version__"):
        versions["torch"] = str(torch.__version__)
        if torch.version.cuda:
            versions["cuda"] = str(torch.version.cuda)
    if recorded is not None and recorded.is_initialized():
        devices = _torch_devices(torch, recorded, peaks)
    if framework == "jax":
        versions.update(_version("jax"))
        devices = devices or _jax_devices()
    elif framework == "tensorflow":
        versions.update(_version("tensorflow"))
        devices = devices or _tensorflow_devices()
    if devices and not is_brief:
        driver, processes = nvml.ask([device.get("uuid") for device in devices])
        if driver is not None:
            versions["driver"] = driver
        for device, found in zip(devices, processes):
            device["processes"] = found
    return versions, devices


def _version(name: str) -> dict[str, str]:
    version = getattr(sys.modules.get(name), "__version__", None)
    return {} if version is None else {name: str(version)}


def _torch_devices(torch: Any, cuda: Any, peaks: Peaks) -> list[dict[str, Any]]:
    found = []
    fraction_of = getattr(getattr(torch, "_C", None), "_cuda_getMemoryFraction", None)
    for index in range(cuda.device_count()):
        stats = cuda.memory_stats(index)
        if not stats.get("reserved_bytes.all.peak") and index != cuda.current_device():
            # A card this process has not touched: to ask it anything would put a context on it.
            continue
        card = cuda.get_device_properties(index)
        free, total = cuda.mem_get_info(index)
        uuid = getattr(card, "uuid", None)
        found.append(
            {
                "index": index,
                "name": card.name,
                "total": total,
                "capability": [card.major, card.minor],
                "uuid": None if uuid is None else f"GPU-{uuid}",
                "fraction": fraction_of(index) if fraction_of is not None else None,
                "free": free,
                **peaks.of(index, stats),
                "allocated": stats.get("allocated_bytes.all.current", 0),
                "reserved": stats.get("reserved_bytes.all.current", 0),
                "retries": stats.get("num_alloc_retries", 0),
                "ooms": stats.get("num_ooms", 0),
            }
        )
    return found


def _jax_devices() -> list[dict[str, Any]]:
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is None or not getattr(bridge, "backends_are_initialized", lambda: False)():
        return []
    found = []
    for index, device in enumerate(sys.modules["jax"].local_devices()):
        stats = device.memory_stats() if device.platform in ("gpu", "cuda", "rocm") else None
        if not stats:
            continue
        limit, used = stats.get("bytes_limit", 0), stats.get("bytes_in_use", 0)
        found.append(
            {
                "index": index,
                "name": device.device_kind,
                "total": limit,
                "peak_allocated": stats.get("peak_bytes_in_use", 0),
                "peak_reserved": stats.get("peak_pool_bytes", stats.get("peak_bytes_in_use", 0)),
                "allocated": used,
                "reserved": stats.get("pool_bytes", used),
                "free": max(limit - used, 0),
            }
        )
    return found


def _tensorflow_devices() -> list[dict[str, Any]]:
    tensorflow: Any = sys.modules.get("tensorflow")
    try:
        context = tensorflow.python.eager.context.context()
        if not context._initialized:
            return []
        cards = tensorflow.config.list_physical_devices("GPU")
    except AttributeError:
        return []
    found = []
    for index, card in enumerate(cards):
        memory = tensorflow.config.experimental.get_memory_info(f"GPU:{index}")
        details = tensorflow.config.experimental.get_device_details(card)
        found.append(
            {
                "index": index,
                "name": details.get("device_name", card.name),
                "peak_allocated": memory.get("peak", 0),
                "allocated": memory.get("current", 0),
            }
        )
    return found
