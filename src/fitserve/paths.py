"""Where fitserve keeps things: the XDG folders, mode 0700, and sockets short enough for the kernel."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path

from fitserve.errors import OperationFailed, SettingsError
from fitserve.text import tr

_SOCKET_LIMIT = 100  # sun_path holds 108 bytes; supervisor adds a suffix while it binds


class FolderUnusable(OperationFailed, OSError):
    """One of fitserve's folders can't be made, or isn't ours. An OSError too: caches do without it."""

    def __init__(self, path: Path, variable: str, why: str) -> None:
        hint = f"{variable}=/another/folder fitserve …"
        super().__init__(tr("failure.folder_unusable", path=path), code="state_unwritable", evidence=why, hint=hint)
        self.filename, self.strerror = str(path), why

    def __str__(self) -> str:
        return self.message


def state_dir() -> Path:
    """Deployments, run records and logs. As with the others: raises FolderUnusable."""
    return _own(_xdg("XDG_STATE_HOME", ".local/state"), "XDG_STATE_HOME")


def data_dir() -> Path:
    """Managed engines and downloaded models."""
    return _own(_xdg("XDG_DATA_HOME", ".local/share"), "XDG_DATA_HOME")


def cache_dir() -> Path:
    """What can be deleted at any time."""
    return _own(_xdg("XDG_CACHE_HOME", ".cache"), "XDG_CACHE_HOME")


def config_file() -> Path:
    """The user's own settings (may not exist). Raises SettingsError where the folder keeps that to itself."""
    path = _xdg("XDG_CONFIG_HOME", ".config") / "config.toml"
    try:
        path.stat()
    except PermissionError as error:
        hint = "XDG_CONFIG_HOME=/another/folder fitserve …"
        raise SettingsError(tr("config.unreadable", path=path), evidence=str(error), hint=hint) from error
    except OSError:
        pass  # it isn't there
    return path


def runtime_dir() -> Path:
    """Sockets. Falls back to a private folder under the temporary one where XDG_RUNTIME_DIR is unset or long.

    The name carries a digest of the state folder, so that two state folders never share a supervisor.
    """
    tag = hashlib.sha256(str(state_dir()).encode()).hexdigest()[:8]
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    for parent in filter(None, (base, tempfile.gettempdir())):
        path = Path(parent) / f"fitserve-{os.getuid()}-{tag}"
        if len(str(path / "supervisor.sock")) <= _SOCKET_LIMIT and os.access(parent, os.W_OK):
            return _own(path, "XDG_RUNTIME_DIR", may_be_link=False)
    path = Path("/tmp") / f"fitserve-{os.getuid()}-{tag}"  # noqa: S108 - owner and mode are checked in _own
    return _own(path, "XDG_RUNTIME_DIR", may_be_link=False)


def _xdg(variable: str, fallback: str) -> Path:
    value = os.environ.get(variable, "")
    base = Path(value) if Path(value).is_absolute() else Path.home() / fallback
    return base / "fitserve"


def _own(path: Path, variable: str, *, may_be_link: bool = True) -> Path:
    """Make the folder private. A folder that somebody else owns is refused, never used, and so is a link to one.

    In a shared folder anybody can lay a link under our name: there `may_be_link` is false.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.stat() if may_be_link else path.lstat()
    except OSError as error:
        raise FolderUnusable(path, variable, f"{error.filename or path}: {error.strerror}") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise FolderUnusable(path, variable, tr("failure.folder_foreign", uid=found.st_uid))
    if found.st_mode & 0o077:
        with contextlib.suppress(OSError):  # a read-only disk keeps its modes; what is written is private by itself
            path.chmod(0o700)
    return path
