"""Who else is on the card, from NVIDIA's management library, asked when a recording is written."""

from __future__ import annotations

from typing import Any

# The function itself: a program may replace the builtin, and would notice that somebody calls it.
from io import open as open_file

# NVML says "not available" of a figure with all bits set.
_NOT_AVAILABLE = (1 << 64) - 1


def _processes(ctypes: Any, library: Any, handle: Any) -> list[dict[str, Any]]:
    structure: Any = ctypes.Structure

    class Info(structure):  # type: ignore[misc]
        _fields_ = [
            ("pid", ctypes.c_uint),
            ("used", ctypes.c_ulonglong),
            ("gpu_instance", ctypes.c_uint),
            ("compute_instance", ctypes.c_uint),
        ]

    list_them = getattr(library, "nvmlDeviceGetComputeRunningProcesses_v3", None)
    if list_them is None:
        return []
    count = ctypes.c_uint(256)
    of_256: Any = ctypes.ARRAY(Info, 256)
    infos = of_256()
    if list_them(handle, ctypes.byref(count), infos) != 0:
        return []
    found = []
    for info in infos[: count.value]:
        used = None if info.used == _NOT_AVAILABLE else int(info.used)
        found.append({"pid": int(info.pid), "name": _name(info.pid), "bytes": used})
    return found


def _name(pid: int) -> str | None:
    try:
        with open_file(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None


def _version(ctypes: Any, library: Any) -> str | None:
    text = ctypes.create_string_buffer(96)
    if library.nvmlSystemGetDriverVersion(text, 96) != 0:
        return None
    return str(text.value.decode("ascii", "replace"))


def ask(uuids: list[str | None]) -> tuple[str | None, list[list[dict[str, Any]]]]:
    """The driver's version, and the processes on each of these cards; nothing where NVML is not there."""
    nothing: list[list[dict[str, Any]]] = [[] for _ in uuids]
    try:
        import ctypes

        library = ctypes.CDLL("libnvidia-ml.so.1")
        if library.nvmlInit_v2() != 0:
            return None, nothing
    except (ImportError, OSError, AttributeError):
        return None, nothing
    try:
        found = []
        for uuid in uuids:
            handle = ctypes.c_void_p()
            known = uuid is not None and (
                library.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(handle)) == 0
            )
            found.append(_processes(ctypes, library, handle) if known else [])
        return _version(ctypes, library), found
    except AttributeError:
        return None, nothing
    finally:
        library.nvmlShutdown()
