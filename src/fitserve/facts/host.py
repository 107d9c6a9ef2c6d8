"""The host as facts: processor, memory, shared memory, disk, and the limits of the container it may be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HostFacts:
    """What the machine has. Memory figures respect cgroup limits; None means unknown."""

    system: str  # "Linux 6.1 x86_64"
    python: str
    cpu_model: str | None
    cpu_flags: frozenset[str]
    cores: int
    memory_total_bytes: int
    memory_available_bytes: int
    shm_total_bytes: int | None
    disk_free_bytes: int | None
    compiler: str | None  # path of a C++ compiler
    wsl: bool = False
    memory_limit_bytes: int | None = None  # of the cgroup, where one is set below the machine's memory
    shm_free_bytes: int | None = None
