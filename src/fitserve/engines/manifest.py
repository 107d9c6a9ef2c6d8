"""The manifest: written last, so that an environment that has one is whole."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = "fitserve-engine.json"


@dataclass(frozen=True)
class Manifest:
    """What was built. `lock_digest` tells an environment that an older fitserve built from another lock."""

    engine: str
    version: str
    device: str
    torch_source: str  # "machine", "pytorch-cpu" or "pypi-cuda"; "" where the package brings its own torch
    lock_digest: str
    python: str  # "3.11.7"
    made_by: str  # fitserve's version
    size_bytes: int


def python_of(environment: Path) -> Path:
    """The interpreter of an environment."""
    return environment / "bin" / "python"


def write_manifest(environment: Path, manifest: Manifest) -> None:
    """Write it whole and to the disk before anybody can see it."""
    draft = environment / f".{FILE}"
    with draft.open("w", encoding="utf-8") as file:
        json.dump(asdict(manifest), file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(environment / FILE)


def read_manifest(environment: Path) -> Manifest | None:
    """The manifest, or None for an environment that is not whole."""
    try:
        return Manifest(**json.loads((environment / FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def managed_pythons(folder: Path) -> list[Path]:
    """Interpreters of the whole environments in a folder, newest version first. Half-built ones have hidden names."""
    whole = [path for path in folder.glob("[!.]*") if read_manifest(path) is not None] if folder.is_dir() else []
    return [python_of(path) for path in sorted(whole, key=_version, reverse=True)]


def _version(environment: Path) -> list[int]:
    digits = environment.name.rpartition("-")[2].split(".")
    return [int(part) if part.isdecimal() else 0 for part in digits]
