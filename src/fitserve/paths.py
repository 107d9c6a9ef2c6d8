"""Where fitserve keeps things: the XDG folders, mode 0700, and sockets short enough for the kernel."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

_SOCKET_LIMIT = 100  # sun_path holds 108 bytes; supervisor adds a suffix while it binds


def state_dir() -> Path:
    """Deployments, run records and logs."""
    return _own(_xdg("XDG_STATE_HOME", ".local/state"))


def data_dir() -> Path:
    """Managed engines and downloaded models."""
    return _own(_xdg("XDG_DATA_HOME", ".local/share"))


def cache_dir() -> Path:
    """What can be deleted at any time."""
    return _own(_xdg("XDG_CACHE_HOME", ".cache"))


def config_file() -> Path:
    """The user's own settings (may not exist)."""
    return _xdg("XDG_CONFIG_HOME", ".config") / "config.toml"


def runtime_dir() -> Path:
    """Sockets. Falls back to a private folder under the temporary one where XDG_RUNTIME_DIR is unset or long.

    The name carries a digest of the state folder, so that two state folders never share a supervisor.
    """
    tag = hashlib.sha256(str(state_dir()).encode()).hexdigest()[:8]
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    for parent in filter(None, (base, tempfile.gettempdir())):
        path = Path(parent) / f"fitserve-{os.getuid()}-{tag}"
        if len(str(path / "supervisor.sock")) <= _SOCKET_LIMIT and os.access(parent, os.W_OK):
            return _own(path)
    return _own(Path("/tmp") / f"fitserve-{os.getuid()}-{tag}")  # noqa: S108 - owner and mode are checked in _own


def _xdg(variable: str, fallback: str) -> Path:
    value = os.environ.get(variable, "")
    base = Path(value) if Path(value).is_absolute() else Path.home() / fallback
    return base / "fitserve"


def _own(path: Path) -> Path:
    """Make the folder private. A folder that somebody else owns is refused, never used."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.stat().st_uid != os.getuid():
        raise PermissionError(f"{path} belongs to another user")
    return path
