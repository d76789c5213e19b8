"""This process's and this machine's memory beside the GPU."""

from __future__ import annotations

import os

# The function itself: a program may replace the one that is built in.
from io import open as open_file
from typing import Any


def _text(path: str) -> str | None:
    try:
        with open_file(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None


def _fields(path: str) -> dict[str, int]:
    """The `Name: 123 kB` lines of a file of /proc, in bytes."""
    found: dict[str, int] = {}
    for line in (_text(path) or "").splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if len(words) == 2 and words[1] == "kB" and words[0].isdigit():
            found[name] = int(words[0]) * 1024
    return found


# Below /sys/fs/cgroup: where each version of the hierarchy keeps its groups, and what it calls their files.
_GROUP_FILES = {
    "": ("memory.max", "memory.current", "memory.events"),
    "memory/": ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control"),
}


def _cgroup() -> dict[str, Any]:
    """What the kernel says of the control groups that this process is in: the list of them, and their files as they
    are. Which of their limits counts is for the reader to decide."""
    own = _text("/proc/self/cgroup") or ""
    # The root as well: inside a container it is the container's own group.
    folders = {"": None}
    for line in own.splitlines():
        folder = ""
        for part in filter(None, line.split(":", 2)[-1].split("/")):
            folder += f"{part}/"
            folders[folder] = None
    names = [f"{mount}{folder}{file}" for mount, files in _GROUP_FILES.items() for folder in folders for file in files]
    texts = ((name, _text(f"/sys/fs/cgroup/{name}")) for name in names)
    return {"own": own, "files": {name: text for name, text in texts if text is not None}}


def memory() -> dict[str, Any]:
    """What the recording says of the host; what cannot be read is absent or None."""
    own, machine = _fields("/proc/self/status"), _fields("/proc/meminfo")
    found: dict[str, Any] = {
        "rss": own.get("VmRSS"),
        "peak_rss": own.get("VmHWM"),
        "available": machine.get("MemAvailable"),
        "total": machine.get("MemTotal"),
        "cgroup": _cgroup(),
    }
    try:
        shm = os.statvfs("/dev/shm")
        found["shm_total"] = shm.f_frsize * shm.f_blocks
        found["shm_free"] = shm.f_frsize * shm.f_bavail
    except OSError:
        pass
    return found


def rss() -> tuple[int, int]:
    """Resident bytes of this process and bytes the machine has available: cheap enough for every beat."""
    return _fields("/proc/self/status").get("VmRSS", 0), _fields("/proc/meminfo").get("MemAvailable", 0)
