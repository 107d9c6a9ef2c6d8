"""Processes as /proc shows them, told apart by pid, start and boot, so that a reused pid is never taken for ours.

Start times are ticks since boot: a clock that is set back does not move them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MARK = "FITSERVE_DEPLOYMENT"  # in the environment of every process of an engine; its value is the deployment's folder
_PROC = Path("/proc")


@dataclass(frozen=True)
class Identity:
    """One process, for ever: no other process ever has the same three values."""

    pid: int
    start_ticks: int
    boot: str


@dataclass(frozen=True)
class Process:
    """A process as it is now."""

    pid: int
    parent: int
    group: int
    zombie: bool
    start_ticks: int

    @property
    def identity(self) -> Identity:
        """What to remember of it."""
        return Identity(self.pid, self.start_ticks, boot_id())


@cache
def boot_id() -> str:
    """The kernel's own name for this boot."""
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def look_up(pid: int) -> Process | None:
    """The process with this pid; None where there is none."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold anything, even ")"
    return Process(pid, int(fields[1]), int(fields[2]), fields[0] in "ZX", int(fields[19]))


def is_alive(identity: Identity | None) -> bool:
    """Whether this very process still runs (a zombie does not)."""
    process = look_up(identity.pid) if identity else None
    return process is not None and not process.zombie and process.identity == identity


def running() -> Iterator[Process]:
    """Every process that is not a zombie."""
    return (process for process in _all() if not process.zombie)


def children(parent: int) -> Iterator[Process]:
    """Direct children, zombies too."""
    return (process for process in _all() if process.parent == parent)


def _all() -> Iterator[Process]:
    with os.scandir(_PROC) as entries:  # twice as quick as Path.iterdir, and it is asked often while an engine stops
        pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
    return filter(None, map(look_up, pids))


def carries_mark(pid: int, mark: str) -> bool:
    """Whether the process was started with this mark in its environment. False where that can't be read."""
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    return f"{MARK}={mark}".encode() in environment.split(b"\0")


def command_line(pid: int) -> tuple[str, ...]:
    """The process's arguments; empty where they can't be read."""
    try:
        raw = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ()
    return tuple(part.decode(errors="replace") for part in raw.split(b"\0") if part)


def memory_bytes(pid: int) -> int | None:
    """What the process takes of the memory, shared pages counted in part; None where that is unknown."""
    try:
        for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        return None
    return None
