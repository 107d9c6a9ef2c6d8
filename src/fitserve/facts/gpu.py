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
    uuid: str = ""
    driver: str = ""  # driver version
    p2p_peers: tuple[int, ...] | None = None  # indices that it reaches directly; None where not known
    nvlink: bool | None = None  # links that are up
    display: bool | None = None  # drives a screen, which takes memory of its own
    mig: bool = False  # cut into instances
    unified: bool = False  # shares the host's memory (GB10, Jetson)
    assumed: bool = False  # named or sized by a person, not read from a driver


@dataclass(frozen=True)
class GpusUnknown:
    """Why nobody can say which cards there are: a sentence in the reader's language, and the evidence."""

    reason: str
    evidence: str = ""
