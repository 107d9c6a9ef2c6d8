"""One writer a file: the same `flock` that the hubs' own tools take. It ends with its process, however that ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def held(path: Path, busy: Callable[[], None]) -> Iterator[None]:
    """Hold the lock at `path`. `busy` is called each time somebody else has it: it waits a little, or raises."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while (handle := _tried(path)) is None:
        busy()
    try:
        yield
    finally:
        os.close(handle)


def _tried(path: Path) -> int | None:
    """The open lock, None where another has it or has just removed the file that we opened."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), path.stat()):
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:  # a file system without locks: the parts are named alike, and the checksum has the last word
        return handle
    os.close(handle)
    return None
