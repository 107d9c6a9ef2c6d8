"""The files of the user's own supervisor: one for itself, one for each program."""

from __future__ import annotations

import glob
import os
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fitserve.errors import SettingsError
from fitserve.paths import runtime_dir, state_dir
from fitserve.run.exits import EXPECTED_CODES
from fitserve.text import tr

STOP_WAIT_S = 150  # supervisor's own KILL comes after everything that the runner may wait for
_PASSED = ("HOME", "USER", "LOGNAME", "PATH", "LANG", "TZ", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV")
_UNFIT = set("%;\"'")  # supervisor's conf gives these a meaning
_PASSED_PREFIXES = ("LC_", "XDG_", "FITSERVE_")


@dataclass(frozen=True)
class Program:
    """One supervised program. Its output goes to `log`, rotated by size."""

    name: str
    argv: tuple[str, ...]
    directory: Path
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)


def supervisor_dir() -> Path:
    """Conf, log and pid file of the supervisor."""
    return state_dir() / "supervisor"


def conf_path() -> Path:
    """What `supervisorctl -c` takes."""
    return supervisor_dir() / "supervisord.conf"


def socket_path() -> Path:
    """Where it listens."""
    return runtime_dir() / "supervisor.sock"


def program_path(name: str) -> Path:
    """The conf of one program; there while the program is known to the supervisor."""
    return supervisor_dir() / "programs" / f"{name}.conf"


def runner_argv(name: str) -> tuple[str, ...]:
    """The command of a deployment's runner."""
    return (sys.executable, "-m", "fitserve", "_run", name)


def page_argv(name: str) -> tuple[str, ...]:
    """The command of a deployment's page."""
    return (sys.executable, "-m", "fitserve", "_page", name)


def supervisor_env() -> dict[str, str]:
    """What the supervisor and its programs see of the first caller's environment: no secrets, nothing of a shell."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED or (name.startswith(_PASSED_PREFIXES) and name != "FITSERVE_DEPLOYMENT")
    }


def supervisor_conf() -> str:
    """The supervisor's own conf. Raises SettingsError for a folder whose name it can't hold."""
    folder = supervisor_dir()
    for path, variable in ((folder, "XDG_STATE_HOME"), (runtime_dir(), "XDG_RUNTIME_DIR")):
        if not str(path).isprintable() or set(str(path)) & _UNFIT:
            hint = f"{variable}=/another/folder fitserve …"
            raise SettingsError(tr("run.path_unfit", path=repr(str(path))), code="path_unfit", hint=hint)
    sections: dict[str, dict[str, object]] = {
        "supervisord": {
            "logfile": folder / "supervisord.log",
            "logfile_maxbytes": "1MB",
            "logfile_backups": 2,
            "pidfile": folder / "supervisord.pid",
            "childlogdir": folder,
            "directory": folder,
            "umask": "077",
            "minfds": 256,
            "minprocs": 32,
            "identifier": "fitserve",
        },
        "unix_http_server": {"file": socket_path(), "chmod": "0600"},
        "supervisorctl": {"serverurl": f"unix://{socket_path()}"},
        "rpcinterface:supervisor": {
            "supervisor.rpcinterface_factory": "supervisor.rpcinterface:make_main_rpcinterface"
        },
        "include": {"files": re.sub(r"\s", "?", glob.escape(str(folder / "programs"))) + "/*.conf"},
    }
    return _ini(sections)


def program_conf(program: Program) -> str:
    """One program's conf."""
    section: dict[str, object] = {
        "command": shlex.join(program.argv),
        "directory": program.directory,
        "autostart": "false",
        "autorestart": "unexpected",
        "startsecs": 0,  # whether a start is good is the runner's to say, by its exit code
        "exitcodes": ",".join(map(str, EXPECTED_CODES)),
        "stopsignal": "TERM",
        "stopwaitsecs": STOP_WAIT_S,
        "stopasgroup": "true",
        "killasgroup": "true",
        "redirect_stderr": "true",
        "stdout_logfile": program.log,
        "stdout_logfile_maxbytes": "4MB",
        "stdout_logfile_backups": 3,
    }
    if program.env:
        pairs = (f'{name}="{_escaped(value)}"' for name, value in sorted(program.env.items()))
        section["environment"] = _Raw(",".join(pairs))
    return _ini({f"program:{program.name}": section})


class _Raw(str):
    """Text whose per cent signs are doubled already."""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")


def _ini(sections: Mapping[str, Mapping[str, object]]) -> str:
    lines = []
    for section, table in sections.items():
        lines.append(f"[{section}]")
        lines += [f"{key}={value if isinstance(value, _Raw) else _doubled(value)}" for key, value in table.items()]
        lines.append("")
    return "\n".join(lines)


def _doubled(value: object) -> str:
    """Supervisor expands `%(name)s` in every value, and takes ` ;` for a comment."""
    text = str(value).replace("%", "%%")
    if " ;" in text or "\n" in text:
        raise SettingsError(tr("run.path_unfit", path=repr(str(value))), code="path_unfit")
    return text
