"""What has to be there before anything is fetched: a Python that fits, venv, disk space; a compiler is only advice."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fitserve.constants import NEWEST_PYTHON, OLDEST_PYTHON
from fitserve.engines.base import Recipe
from fitserve.engines.find import nvidia_driver
from fitserve.engines.packages import pip_runner
from fitserve.engines.progress import Progress
from fitserve.errors import OperationFailed, ToolMissing
from fitserve.facts.read_host import read_host
from fitserve.text import tr
from fitserve.units import format_bytes


@dataclass(frozen=True)
class Ground:
    """What the machine shows; a test says it instead."""

    python: tuple[int, int] = sys.version_info[:2]
    has_module: Callable[[str], bool] = lambda name: importlib.util.find_spec(name) is not None
    pip_runner: Callable[[], Path | None] = pip_runner
    compiler: Callable[[], str | None] = lambda: read_host().compiler
    nvidia: Callable[[], bool] = nvidia_driver
    free_bytes: Callable[[Path], int] = field(default=lambda path: shutil.disk_usage(path).free)


def check_room(recipe: Recipe, folder: Path, ground: Ground, progress: Progress) -> None:
    """Raise ToolMissing (Python, venv) or OperationFailed (disk) before anything is written; warn of no compiler."""
    _python(recipe, ground)
    _venv(ground)
    check_disk(recipe.disk_bytes or 0, folder, ground)
    if ground.compiler() is None:
        progress.say(tr("engines.no_compiler"))
    if recipe.device == "cuda" and not ground.nvidia():
        progress.say(tr("engines.no_driver"))


def _python(recipe: Recipe, ground: Ground) -> None:
    if recipe.lock is not None and not OLDEST_PYTHON <= ground.python <= NEWEST_PYTHON:
        have, low, high = (".".join(map(str, pair)) for pair in (ground.python, OLDEST_PYTHON, NEWEST_PYTHON))
        raise ToolMissing(
            tr("engines.python_version", have=have, low=low, high=high),
            code="python_version",
            evidence=sys.executable,
            hint=f"python{high} -m venv .venv && .venv/bin/pip install fitserve",
        )


def _venv(ground: Ground) -> None:
    """venv is always needed; ensurepip only where our own interpreter has no pip to lend."""
    needed = ["venv"] if ground.pip_runner() else ["venv", "ensurepip"]
    missing = [name for name in needed if not ground.has_module(name)]
    if missing:
        version = ".".join(map(str, ground.python))
        raise ToolMissing(
            tr("engines.no_venv", module=missing[0]),
            code="venv_missing",
            evidence=f"No module named '{missing[0]}' ({sys.executable})",
            hint=f"sudo apt-get install python{version}-venv",
        )


def check_disk(needed: int, folder: Path, ground: Ground) -> None:
    """Raise OperationFailed where fewer bytes than needed are free."""
    free = ground.free_bytes(folder)
    if free < needed:
        raise OperationFailed(
            tr("engines.no_room", folder=folder, need=format_bytes(needed), free=format_bytes(free)),
            code="disk_full",
            evidence=f"{folder}: {format_bytes(free)}",
            hint=f"df -h {folder}",
        )
