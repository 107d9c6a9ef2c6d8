"""One installer at a time: a lock that the kernel drops with its holder, however that one ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fitserve.clock import Clock, SystemClock
from fitserve.engines.progress import Progress
from fitserve.text import tr

POLL_SECONDS = 0.5


@contextmanager
def held(path: Path, progress: Progress, clock: Clock | None = None) -> Iterator[None]:
    """Hold the lock file, waiting for another holder and saying so. The file itself stays."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _taken(handle):
            progress.begin(tr("engines.waiting", pid=_holder(path)))
            while not _taken(handle):
                (clock or SystemClock()).sleep(POLL_SECONDS)
                progress.detail("")
            progress.end()
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8") or "?"
    return "?"
