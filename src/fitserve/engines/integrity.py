"""Whether an environment still has the files that were installed: by the packages' own RECORDs, existence and size."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path


def first_damage(environment: Path) -> str:
    """The first file that is missing or has another size, '' where there is none."""
    for packages in sorted((environment / "lib").glob("python3*/site-packages")):
        for path, size in _recorded(packages):
            try:
                if path.stat().st_size != size:
                    return f"{path}: {path.stat().st_size} bytes, {size} were installed"
            except OSError as error:
                return f"{path}: {error.strerror}"
    return ""


def _recorded(packages: Path) -> Iterator[tuple[Path, int]]:
    """Files with a recorded size. Console scripts are left out: their first line is rewritten."""
    for record in sorted(packages.glob("*.dist-info/RECORD")):
        with record.open(encoding="utf-8", newline="") as file:
            for name, _, size in csv.reader(file):
                if size and not name.startswith("..") and not name.endswith(".pyc"):
                    yield packages / name, int(size)
