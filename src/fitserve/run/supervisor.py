"""The user's own supervisor: started when it is needed, found again later, ended when nothing is left to look after."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

from fitserve.clock import Clock, SystemClock
from fitserve.errors import OperationFailed
from fitserve.run.files import write_whole
from fitserve.run.lock import held
from fitserve.run.processes import Identity, command_line, running
from fitserve.run.supervisor_conf import (
    STOP_WAIT_S,
    Program,
    conf_path,
    program_conf,
    program_path,
    socket_path,
    supervisor_conf,
    supervisor_dir,
    supervisor_env,
)
from fitserve.run.supervisor_rpc import ALREADY_ADDED, ALREADY_STARTED, BAD_NAME, NOT_RUNNING, Fault, call
from fitserve.run.sweep import end, send, wait_gone
from fitserve.text import tr
from fitserve.units import format_bytes

_START_WAIT_S = 15.0
_POLL_S = 0.02
STOPPED_STATES = ("STOPPED", "EXITED", "FATAL", "UNKNOWN")


class Supervisor:
    """Talks to it; every change happens under one lock, so that several commands do not trip over each other."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = supervisor_dir() / "lock"

    def answers(self) -> bool:
        """Whether it runs and can be talked to."""
        try:
            return bool(call(socket_path(), "getState"))
        except (OSError, Fault):
            return False

    def states(self) -> dict[str, str]:
        """Each known program's state in supervisor's words; empty where no supervisor runs."""
        try:
            rows = call(socket_path(), "getAllProcessInfo")
        except (OSError, Fault):
            return {}
        return {str(row["name"]): str(row["statename"]) for row in rows}

    def start(self, program: Program) -> None:
        """Make it known and start it; a program that runs is left alone. Raises OperationFailed."""
        with held(self._lock, _START_WAIT_S * 2, self._clock):
            program.log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(program_path(program.name), program_conf(program).encode())
            if not self.answers():
                self._launch()
            if self.states().get(program.name, "STOPPED") in STOPPED_STATES:
                self._take_up(program.name)

    def resume(self, name: str) -> None:
        """Start a program again that a killed one looked after. One that was forgotten meanwhile stays down."""
        with held(self._lock, _START_WAIT_S * 2, self._clock):
            if not program_path(name).exists():
                return
            if not self.answers():
                self._launch()
            if self.states().get(name, "STOPPED") in STOPPED_STATES:
                self._take_up(name)

    def stop(self, name: str, wait_s: float = STOP_WAIT_S + 10.0) -> None:
        """Stop a program and wait until it has ended."""
        with contextlib.suppress(OSError):
            self._call("stopProcess", name, False, tolerate=(NOT_RUNNING, BAD_NAME))
            deadline = self._clock.monotonic() + wait_s
            while self.states().get(name, "STOPPED") not in STOPPED_STATES:
                if self._clock.monotonic() > deadline:
                    raise OperationFailed(tr("run.stop_stuck", name=name), evidence=self.states().get(name, ""))
                self._clock.sleep(_POLL_S)

    def forget(self, name: str) -> None:
        """Make a stopped program unknown; the supervisor itself goes with the last one."""
        with held(self._lock, _START_WAIT_S * 2, self._clock):
            program_path(name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self._call("removeProcessGroup", name, tolerate=(BAD_NAME,))
            if not self._has_programs():
                self._shut_down()

    def _has_programs(self) -> bool:
        """Whether it still looks after something; one that can't be asked keeps what has a conf."""
        return bool(self.states()) or any(program_path("x").parent.glob("*.conf"))

    def processes(self) -> tuple[Identity, ...]:
        """Every supervisor of ours that runs, also one whose socket somebody has removed."""
        conf = str(conf_path())
        return tuple(
            process.identity
            for process in running()
            if (words := command_line(process.pid)) and words[-1] == conf and "supervisor.supervisord" in words
        )

    def end(self) -> None:
        """End it, with all that it looks after, and leave no process, socket or program behind."""
        with held(self._lock, _START_WAIT_S * 2, self._clock):
            for path in program_path("x").parent.glob("*.conf"):
                path.unlink(missing_ok=True)
            self._shut_down()

    def _take_up(self, name: str) -> None:
        self._call("reloadConfig")
        with contextlib.suppress(OSError):
            self._call("removeProcessGroup", name, tolerate=(BAD_NAME,))
        self._call("addProcessGroup", name, tolerate=(ALREADY_ADDED,))
        self._call("startProcess", name, False, tolerate=(ALREADY_STARTED,))

    def _call(self, method: str, *arguments: object, tolerate: tuple[int, ...] = ()) -> None:
        try:
            call(socket_path(), method, *arguments)
        except Fault as fault:
            if fault.code not in tolerate:
                raise OperationFailed(tr("run.supervisor_refused"), evidence=f"{method}: {fault}") from fault

    def _launch(self) -> None:
        folder = supervisor_dir()
        write_whole(conf_path(), supervisor_conf().encode())
        socket_path().unlink(missing_ok=True)
        trouble = folder / "start.log"
        with trouble.open("wb") as output:
            end_of_it = _begun(folder, output)
        deadline = self._clock.monotonic() + _START_WAIT_S
        while not self.answers():
            if end_of_it or self._clock.monotonic() > deadline:
                said = _last_line(trouble) or end_of_it or "-"  # on a full disk it can say nothing
                evidence = f"{said}; {folder}: {format_bytes(shutil.disk_usage(folder).free)} free"
                raise OperationFailed(tr("run.supervisor_silent"), evidence=evidence, hint=f"df -h {folder}")
            self._clock.sleep(_POLL_S)

    def _shut_down(self) -> None:
        """TERM is its own way to end in good order, and reaches one whose socket is gone too."""
        ours = self.processes()
        send(ours, signal.SIGTERM)
        end(wait_gone(ours, STOP_WAIT_S, self._clock), 10.0, self._clock)
        socket_path().unlink(missing_ok=True)
        (supervisor_dir() / "supervisord.pid").unlink(missing_ok=True)


def _begun(folder: Path, output: BinaryIO) -> str:
    """supervisord, which goes into the background when it is ready. Returns how that went wrong, "" if well."""
    try:
        code = subprocess.run(
            [sys.executable, "-m", "supervisor.supervisord", "-c", str(conf_path())],
            env=supervisor_env(),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            timeout=_START_WAIT_S,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        return f"not ready after {_START_WAIT_S:g} s"
    return f"exit {code}" if code else ""


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").split("\n") if path.exists() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
