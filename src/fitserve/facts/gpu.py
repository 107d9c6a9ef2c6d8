"""GPUs as facts: what the driver shows, or what a person says there is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GpuProcess:
    """A process that holds memory on a GPU. The name is None where the driver hides it (containers, WSL2)."""

    pid: int
    used_bytes: int | None
    name: str | None


@dataclass(frozen=True)
class Gpu:
    """One card. `total_bytes` is what the driver shows (23.56 GiB for a 3090), not the number on the box."""

    index: int
    name: str
    total_bytes: int
    free_bytes: int | None
    compute_capability: tuple[int, int] | None
    bandwidth_bytes_s: int | None = None
    processes: tuple[GpuProcess, ...] = ()
