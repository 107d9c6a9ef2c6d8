"""The engine's log on disk: rotated by size, and never a reason for the engine to stop.

A write that fails is counted and told; the file is tried again later, and says then how much is missing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from fitserve.clock import Clock

_RETRY_S = 5.0


class EngineLog:
    """Append-only bytes at `path`; older parts are `path.1` … `path.keep`."""

    def __init__(self, path: Path, max_bytes: int, keep: int, clock: Clock) -> None:
        self.path = path
        self.problem = ""  # the last error, "" while all is well
        self.lost_bytes = 0
        self._max_bytes, self._keep, self._clock = max_bytes, keep, clock
        self._descriptor: int | None = None
        self._size = 0
        self._written = 0
        self._retry_at = 0.0

    def start(self) -> None:
        """Begin a fresh file for a new run; the last run's becomes an older part."""
        with self._surviving():
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.path.exists() and self.path.stat().st_size:
                self._rotate()
            self._open()

    def write(self, chunk: bytes) -> None:
        """Append; never raises for the disk's sake."""
        ready = self._descriptor is not None or self._reopened()
        before = self._written
        if ready:
            with self._surviving():
                if self._size + len(chunk) > self._max_bytes and self._size:
                    self._rotate()
                    self._open()
                self._write_all(chunk)
        self.lost_bytes += len(chunk) - (self._written - before)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _write_all(self, chunk: bytes) -> None:
        assert self._descriptor is not None
        while chunk:
            count = os.write(self._descriptor, chunk)
            self._written += count
            self._size += count
            chunk = chunk[count:]

    def _reopened(self) -> bool:
        if self._clock.monotonic() < self._retry_at:
            return False
        with self._surviving():
            self._open()
            self._write_all(f"\n[fitserve] {self.lost_bytes} bytes are missing here: {self.problem}\n".encode())
            self.problem, self.lost_bytes = "", 0
        return self._descriptor is not None

    def _open(self) -> None:
        self.close()
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._descriptor).st_size

    def _rotate(self) -> None:
        for number in range(self._keep - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                self._part(number).replace(self._part(number + 1))
        self.path.replace(self._part(1))

    def _part(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    @contextlib.contextmanager
    def _surviving(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.problem = f"{self.path.name}: {error.strerror}"
            self._retry_at = self._clock.monotonic() + _RETRY_S
            with contextlib.suppress(OSError):
                self.close()
            self._descriptor = None
