"""Reads the host: processor, memory within its container's limits, shared memory, disk, compiler."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

from fitserve.facts.cgroup import read_limits
from fitserve.facts.host import HostFacts

_COMPILERS = ("c++", "g++", "clang++")


def read_host(root: Path = Path("/"), disk: Path | None = None) -> HostFacts:
    """The host as it is now. `root` holds proc/, sys/ and dev/; `disk` is where the free space counts (the home)."""
    import psutil

    limits = read_limits(root)
    memory = psutil.virtual_memory()
    total, available = int(memory.total), int(memory.available)
    if limits.memory_bytes is not None and limits.memory_bytes < total:
        total = limits.memory_bytes
        available = min(available, max(0, total - (limits.memory_used_bytes or 0)))
    model, flags = _processor(root)
    shm_total, shm_free = _space(root / "dev/shm")
    return HostFacts(
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        cpu_model=model,
        cpu_flags=flags,
        cores=min(_affinity(), limits.processors or _affinity()),
        memory_total_bytes=total,
        memory_available_bytes=available,
        shm_total_bytes=shm_total,
        disk_free_bytes=_space(disk or Path.home())[1],
        compiler=_compiler(),
        wsl="microsoft" in _text(root / "proc/version").lower(),
        memory_limit_bytes=limits.memory_bytes,
        shm_free_bytes=shm_free,
    )


def _processor(root: Path) -> tuple[str | None, frozenset[str]]:
    """Name and flags of the first processor; ARM calls its flags Features and has no name here."""
    fields: dict[str, str] = {}
    for line in _text(root / "proc/cpuinfo").splitlines():
        key, colon, value = line.partition(":")
        if colon:
            fields.setdefault(key.strip(), value.strip())
    flags = fields.get("flags") or fields.get("Features") or ""
    return fields.get("model name") or None, frozenset(flags.split())


def _affinity() -> int:
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def _space(path: Path) -> tuple[int | None, int | None]:
    """Total and free bytes of the file system that holds `path`, or of its nearest parent that exists."""
    for place in (path, *path.parents):
        try:
            usage = shutil.disk_usage(place)
        except OSError:
            continue
        return (usage.total, usage.free) if place == path or path.name != "shm" else (None, None)
    return None, None


def _compiler() -> str | None:
    """The C++ compiler that torch would start: CXX, then the usual names."""
    for name in (os.environ.get("CXX", ""), *_COMPILERS):
        found = shutil.which(name) if name else None
        if found:
            return found
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
