"""What the disk says: whether there is room before anything is fetched, and its failures as sentences."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

from fitserve.errors import FitserveError, OperationFailed
from fitserve.text import tr
from fitserve.units import MIB, format_bytes

_SPARE_BYTES = 256 * MIB  # for logs, and for what others write meanwhile


def free_bytes(folder: Path) -> int:
    """Bytes that may still be written where `folder` is or will be."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def check_room(needed_bytes: int, folder: Path, free: Callable[[Path], int] = free_bytes) -> None:
    """Raise OperationFailed (disk_full) where the rest of a download has no room."""
    here = free(folder)
    if needed_bytes and here < needed_bytes + _SPARE_BYTES:
        need, have = format_bytes(needed_bytes + _SPARE_BYTES), format_bytes(here)
        message = tr("fetch.no_room", need=need, have=have, folder=folder)
        raise OperationFailed(message, code="disk_full", evidence=f"{folder}: {have}", hint=f"df -h {_there(folder)}")


def disk_failure(error: OSError, folder: Path) -> FitserveError:
    """A failed write as a sentence."""
    evidence = f"{error.strerror or error} ({error.filename or folder})"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        message, code = tr("fetch.disk_full", folder=folder), "disk_full"
        return OperationFailed(message, code=code, evidence=evidence, hint=f"df -h {_there(folder)}")
    message, code = tr("fetch.unwritable", folder=folder), "cache_unwritable"
    return OperationFailed(message, code=code, evidence=evidence, hint=f"ls -ld {_there(folder)}")


def _there(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder
