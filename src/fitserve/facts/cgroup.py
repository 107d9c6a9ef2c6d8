"""Limits of the container that a process may be in: memory and processors, cgroup v2 and v1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

_NO_LIMIT = 2**60  # v1 writes a number near 2**63 for "no limit"


@dataclass(frozen=True)
class CgroupLimits:
    """None where there is no limit. `memory_used_bytes` leaves out page cache that the kernel would give back."""

    memory_bytes: int | None
    memory_used_bytes: int | None
    processors: int | None


def read_limits(root: Path = Path("/")) -> CgroupLimits:
    """The tightest limits on the way from this process's group to the top. `root` holds proc/ and sys/."""
    groups = _groups(root)
    limit, used = None, None
    processors = None
    for group in groups:
        own = _number(group / "memory.max") or _number(group / "memory.limit_in_bytes")
        if own is not None and own < _NO_LIMIT and (limit is None or own < limit):
            limit, used = own, _used(group)
        quota = _processors(group)
        processors = quota if processors is None or (quota is not None and quota < processors) else processors
    return CgroupLimits(limit, used, processors)


def _groups(root: Path) -> list[Path]:
    """The folders that may carry a limit, innermost first, of every hierarchy that this process is in."""
    top = root / "sys/fs/cgroup"
    found: list[Path] = []
    for line in _lines(root / "proc/self/cgroup"):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and not {"memory", "cpu"} & set(controllers.split(",")):
            continue
        base = top / controllers if controllers else top
        # inside a container the path may be the host's: the folders that exist count
        folder = base / path.lstrip("/")
        found += [place for place in (folder, *folder.parents) if place.is_relative_to(base) and place.is_dir()]
    return list(dict.fromkeys(found))


def _used(group: Path) -> int | None:
    current = _number(group / "memory.current") or _number(group / "memory.usage_in_bytes")
    if current is None:
        return None
    for line in _lines(group / "memory.stat"):
        name, _, value = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file") and value.isdecimal():
            return max(0, current - int(value))
    return current


def _processors(group: Path) -> int | None:
    words = " ".join(_lines(group / "cpu.max")).split()
    quota, period = [*words, "", ""][:2]
    if not words:
        quota, period = str(_number(group / "cpu.cfs_quota_us")), str(_number(group / "cpu.cfs_period_us"))
    if quota.isdecimal() and period.isdecimal() and int(period):
        return max(1, math.ceil(int(quota) / int(period)))
    return None


def _number(path: Path) -> int | None:
    lines = _lines(path)
    return int(lines[0]) if lines and lines[0].isdecimal() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
