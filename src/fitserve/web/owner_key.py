"""The owner's key: made once for each user, kept where only that user reads it."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from pathlib import Path

from fitserve.errors import OperationFailed
from fitserve.paths import state_dir
from fitserve.text import tr


def key_path() -> Path:
    """Where it stands, mode 0600."""
    return state_dir() / "owner.key"


def owner_key() -> str:
    """The key; made at the first call. Raises OperationFailed where it can't be kept."""
    path = key_path()
    try:
        return _read(path) or _made(path)
    except OSError as error:
        evidence = f"{path}: {error.strerror}"
        raise OperationFailed(tr("run.state_unwritable"), code="state_unwritable", evidence=evidence) from error


def _made(path: Path) -> str:
    """A fresh key. Of two who make one at the same time, the first wins for both."""
    descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(24) + "\n")
    with contextlib.suppress(FileExistsError):
        os.link(draft, path)
    Path(draft).unlink()
    return _read(path)


def _read(path: Path) -> str:
    """The key in the file; a file that others may read is closed to them first."""
    try:
        with path.open() as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                os.fchmod(file.fileno(), 0o600)
            return file.readline().strip()
    except FileNotFoundError:
        return ""
