"""The host's memory and an engine's processes at one moment, from /proc and the container's limits: cheap enough to be
asked every few seconds for months."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fitserve.facts.cgroup import read_limits
from fitserve.units import KIB

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class ProcessSample:
    """One process. `rss_bytes` counts shared pages whole; `cpu_s` is what it has used since it began."""

    pid: int
    name: str
    rss_bytes: int
    cpu_s: float


@dataclass(frozen=True)
class HostSample:
    """Memory as far as this container may use it. None is unknown."""

    total_bytes: int | None = None
    available_bytes: int | None = None
    processes: tuple[ProcessSample, ...] = ()


def sample_host(pids: Iterable[int] = (), root: Path = Path("/")) -> HostSample:
    """The machine, and those of `pids` that still live. `root` holds proc/ and sys/."""
    total, available = _memory(root)
    found = (sample_process(pid, root) for pid in pids)
    return HostSample(total, available, tuple(one for one in found if one is not None))


def sample_process(pid: int, root: Path = Path("/")) -> ProcessSample | None:
    """None where there is no such process, or it may not be read."""
    folder = root / "proc" / str(pid)
    try:
        head, _, rest = (folder / "stat").read_text(errors="replace").rpartition(")")
        pages = int((folder / "statm").read_text().split()[1])
        fields = rest.split()
        return ProcessSample(pid, head.partition("(")[2], pages * _PAGE, (int(fields[11]) + int(fields[12])) / _TICKS)
    except (OSError, ValueError, IndexError):
        return None


def _memory(root: Path) -> tuple[int | None, int | None]:
    figures = {}
    try:
        for line in (root / "proc/meminfo").read_text().splitlines():
            name, _, value = line.partition(":")
            figures[name] = int(value.split()[0]) * KIB
    except (OSError, ValueError, IndexError):
        return None, None
    total, available = figures.get("MemTotal"), figures.get("MemAvailable")
    limits = read_limits(root)
    if limits.memory_bytes is None or total is None or limits.memory_bytes >= total:
        return total, available
    left = None if limits.memory_used_bytes is None else max(0, limits.memory_bytes - limits.memory_used_bytes)
    known = [size for size in (available, left) if size is not None]
    return limits.memory_bytes, min(known, default=None)
