"""One file from the hub into a part on the disk: goes on where it stood, through breaks, restarts and kills."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from fitserve.clock import Clock, SystemClock
from fitserve.errors import Interrupted, OperationFailed, TimedOut
from fitserve.facts.hub_http import HubWeb, TryAgainError
from fitserve.facts.hub_site import HubFile
from fitserve.fetch.digest import Digest
from fitserve.text import tr


@dataclass(frozen=True)
class Patience:
    """How long a download is kept up. Attempts are counted anew once `gain_bytes` have come since the last break."""

    attempts: int = 6
    longest_wait_s: float = 15.0
    gain_bytes: int = 1024**2
    window_s: float = 60.0
    window_bytes: int = 64 * 1024  # less than this in a window is no connection any more
    busy_s: float = 600.0  # for another process to move its part of the same file
    clock: Clock = field(default_factory=SystemClock)


@dataclass(frozen=True)
class Stream:
    """The conversation, what limits it, and what ends it early."""

    web: HubWeb
    patience: Patience
    stop: threading.Event

    def fetch(self, path: str, file: HubFile, part: Path, moved: Callable[[int], None]) -> Digest:
        """Complete `part` and return its checksum. `moved` is told the part's size as it grows.

        Raises what HubWeb raises, TimedOut (hub_slow), Interrupted, and OSError of the disk.
        """
        digest = Digest(file)
        if part.exists():
            digest.add_file(part)
        if digest.size_bytes > file.size_bytes:  # of something else
            part.unlink()
            digest = Digest(file)
        moved(digest.size_bytes)
        with part.open("ab") as kept:
            self._insist(path, file, kept, digest, moved)
            kept.flush()
            os.fsync(kept.fileno())  # a name must not outlive a power cut that its content did not
        return digest

    def _insist(self, path: str, file: HubFile, kept: BinaryIO, digest: Digest, moved: Callable[[int], None]) -> None:
        attempt, stood = 0, digest.size_bytes
        while digest.size_bytes < file.size_bytes:
            try:
                return self._attempt(path, file, kept, digest, moved)
            except TryAgainError as problem:
                if digest.size_bytes - stood >= self.patience.gain_bytes:
                    attempt, stood = 0, digest.size_bytes
                attempt += 1
                if attempt >= self.patience.attempts:
                    raise problem.failure from problem
                if self.stop.wait(min(problem.wait_s * 2 ** (attempt - 1), self.patience.longest_wait_s)):
                    raise Interrupted(tr("failure.interrupted")) from problem
        return None

    def _attempt(self, path: str, file: HubFile, kept: BinaryIO, digest: Digest, moved: Callable[[int], None]) -> None:
        pace = _Pace(self.patience)
        span = f"{digest.size_bytes}-{file.size_bytes - 1}" if digest.size_bytes else ""
        with self.web.answer(path, span) as response:
            skip = digest.size_bytes if response.status_code != 206 else 0  # a server without ranges begins anew
            for came in response.iter_raw():
                if self.stop.is_set():
                    raise Interrupted(tr("failure.interrupted"))
                if pace.too_slow(len(came)):
                    slow = TimedOut(tr("fetch.slow", host=self.web.host), code="hub_slow", evidence=path)
                    raise TryAgainError(slow, 0.5)
                chunk = came[min(skip, len(came)) :][: file.size_bytes - digest.size_bytes]
                skip = max(0, skip - len(came))
                kept.write(chunk)
                digest.add(chunk)
                moved(digest.size_bytes)
                if digest.size_bytes == file.size_bytes:
                    return
        raise self.web.cut_off(path)


class _Pace:
    """Whether a connection still brings something."""

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self.began, self.came = patience.clock.monotonic(), 0

    def too_slow(self, size_bytes: int) -> bool:
        self.came += size_bytes
        now = self.patience.clock.monotonic()
        if now - self.began < self.patience.window_s:
            return False
        slow = self.came < self.patience.window_bytes
        self.began, self.came = now, 0
        return slow


def damaged(host: str, file: HubFile, digest: Digest) -> OperationFailed:
    """A file that came wrong twice."""
    evidence = f"{file.path}: {digest.found} ≠ {digest.promised}"
    return OperationFailed(tr("fetch.damaged", file=file.path, host=host), code="checksum", evidence=evidence)
