"""The edges of an install in one value: folder, machine, pip, and who judges the result. A test brings its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fitserve.engines.examine import Examiner, examine
from fitserve.engines.packages import Installs, Pip
from fitserve.engines.room import Ground


@dataclass(frozen=True)
class Workshop:
    """`pip` makes an installer from an interpreter, our pip's runner (None: its own), a log and a scratch folder."""

    folder: Path
    ground: Ground = field(default_factory=Ground)
    judge: Examiner = examine
    pip: Callable[[Path, Path | None, Path, Path], Installs] = Pip
