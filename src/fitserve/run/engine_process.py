"""The engine's own processes: started in a group of their own, bound to the runner's life, ended to the last one."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from fitserve.clock import Clock
from fitserve.run.processes import MARK, Identity, children, look_up
from fitserve.run.sweep import end, engine_members

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(number: signal.Signals) -> None:
    """Ask the kernel for this signal when the parent (its thread that started us) dies."""
    _libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of what our children leave behind, so that it can be reaped."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class EngineProcess:
    """One engine. Make it on the main thread: the parent-death signal follows the thread that started it."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], mark: str, directory: Path) -> None:
        """Start it. Raises OSError where the interpreter can't be started."""
        self.mark = mark
        parent = os.getpid()

        def bind() -> None:
            die_with_parent(signal.SIGTERM)  # TERM, not KILL: a leader that hears it takes its workers with it
            if os.getppid() != parent:
                os._exit(1)

        self.process = subprocess.Popen(
            list(argv),
            env={**env, MARK: mark, "SPT_NOENV": "1"},  # a process title must not overwrite the mark
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
            preexec_fn=bind,
        )
        found = look_up(self.process.pid)
        self.identity = found.identity if found else Identity(self.process.pid, 0, "")

    @property
    def output(self) -> int:
        """The pipe that holds its standard output and error."""
        assert self.process.stdout is not None
        return os.dup(self.process.stdout.fileno())

    def members(self, known: Sequence[Identity] = ()) -> tuple[Identity, ...]:
        """Its processes that live now."""
        return engine_members(self.mark, self.identity, known)

    def end(self, wait_s: float, clock: Clock, known: Sequence[Identity] = ()) -> tuple[Identity, ...]:
        """Stop the whole group and reap it. Returns those that had to be killed."""
        stubborn = end(self.members(known), wait_s, clock)
        late = end(self.members(known), 0.0, clock)  # started while the others were being stopped
        self.reap()
        return stubborn + late

    def reap(self) -> None:
        """Take the exit status of orphans that came to us; the leader's is its waiter's to take."""
        for child in children(os.getpid()):
            if child.zombie and child.pid != self.process.pid:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(child.pid, os.WNOHANG)
