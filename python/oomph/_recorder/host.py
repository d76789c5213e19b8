"""This process's and this machine's memory beside the GPU."""

from __future__ import annotations

import os
from typing import Any


def _fields(path: str) -> dict[str, int]:
    """The `Name: 123 kB` lines of a file of /proc, in bytes."""
    found: dict[str, int] = {}
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            for line in file:
                name, _, rest = line.partition(":")
                words = rest.split()
                if len(words) == 2 and words[1] == "kB":
                    found[name] = int(words[0]) * 1024
    except (OSError, ValueError):
        pass
    return found


def _number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            text = file.read().strip()
        return None if text == "max" else int(text)
    except (OSError, ValueError):
        return None


def _oom_kills(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            for line in file:
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return None


# cgroup v1 calls "no limit" a number near the largest there is.
_NO_LIMIT = 1 << 60


def _cgroup() -> dict[str, int | None]:
    """Limit, use and kills of the control group this process is in; the tightest limit above it counts."""
    try:
        with open("/proc/self/cgroup", encoding="ascii") as file:
            groups = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        groups = []
    root, place, names = "/sys/fs/cgroup", None, ("memory.max", "memory.current", "memory.events")
    for number, controllers, path in (group for group in groups if len(group) == 3):
        if number == "0" and place is None:
            place = path
        elif "memory" in controllers.split(","):
            root, place = "/sys/fs/cgroup/memory", path
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control")
            break
    if place is None:
        return {"cgroup_limit": None, "cgroup_current": None, "cgroup_oom_kills": None}
    limits: list[tuple[int, str]] = []
    # Inside a container the group's own path may not be mounted; its root is then the group.
    folders = [root + place.rstrip("/")]
    while place not in ("/", ""):
        place = os.path.dirname(place)
        folders.append(root + place.rstrip("/"))
    for folder in folders:
        limit = _number(f"{folder}/{names[0]}")
        if limit is not None and limit < _NO_LIMIT:
            limits.append((limit, folder))
    limit, where = min(limits) if limits else (None, next(filter(os.path.isdir, folders), root))
    return {
        "cgroup_limit": limit,
        "cgroup_current": _number(f"{where}/{names[1]}"),
        "cgroup_oom_kills": _oom_kills(f"{where}/{names[2]}"),
    }


def memory() -> dict[str, Any]:
    """What the recording says of the host; what cannot be read is absent or None."""
    own, machine = _fields("/proc/self/status"), _fields("/proc/meminfo")
    found: dict[str, Any] = {
        "rss": own.get("VmRSS"),
        "peak_rss": own.get("VmHWM"),
        "available": machine.get("MemAvailable"),
        "total": machine.get("MemTotal"),
        **_cgroup(),
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
