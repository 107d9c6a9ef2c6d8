"""Locks that the kernel gives back when their holder dies, however it dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from fitserve.clock import Clock, SystemClock

_POLL_S = 0.05


class Locked(Exception):
    """Somebody else holds it."""


@contextlib.contextmanager
def held(path: Path, wait_s: float = 0.0, clock: Clock | None = None) -> Iterator[None]:
    """Hold the lock at `path` for a while. Raises Locked when another process still has it after `wait_s`."""
    descriptor = _open(path)
    try:
        _acquire(descriptor, wait_s, clock or SystemClock())
        yield
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether some process holds it now."""
    if not path.exists():
        return False
    try:
        with held(path):
            return False
    except Locked:
        return True


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:  # a read-only disk can still be locked: the file, or the folder where there is none yet
        return os.open(path if path.exists() else path.parent, os.O_RDONLY | os.O_CLOEXEC)


def _acquire(descriptor: int, wait_s: float, clock: Clock) -> None:
    deadline = clock.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if clock.monotonic() >= deadline:
                raise Locked from None
            clock.sleep(_POLL_S)
