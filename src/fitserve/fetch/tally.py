"""How much of a download is here, told to whoever watches. Bytes only: words and speed are the surface's."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Protocol

_EVERY_BYTES = 1024**2


class Watch(Protocol):
    """Sees a download. Calls come one at a time, from any thread."""

    def begin(self, folder: Path, files: int, total_bytes: int, here_bytes: int) -> None: ...
    def moved(self, here_bytes: int, files_left: int) -> None: ...
    def note(self, text: str) -> None: ...


class Unwatched:
    """Nobody looks."""

    def begin(self, folder: Path, files: int, total_bytes: int, here_bytes: int) -> None:
        pass

    def moved(self, here_bytes: int, files_left: int) -> None:
        pass

    def note(self, text: str) -> None:
        pass


class Tally:
    """Bytes here, file by file."""

    def __init__(self, watch: Watch, folder: Path, here: dict[str, int], total_bytes: int) -> None:
        self._watch, self._here, self._left = watch, here, len(here)
        self._sum = self._told = sum(here.values())
        self._lock = threading.Lock()
        watch.begin(folder, len(here), total_bytes, self._sum)

    def set(self, name: str, size_bytes: int) -> None:
        """So much of this file is here."""
        with self._lock:
            self._sum += size_bytes - self._here[name]
            self._here[name] = size_bytes
            if abs(self._sum - self._told) >= _EVERY_BYTES:
                self._tell()

    def done(self, name: str, size_bytes: int) -> None:
        """This file is whole and has its name."""
        self.set(name, size_bytes)
        with self._lock:
            self._left -= 1
            self._tell()

    def note(self, text: str) -> None:
        """A sentence in between."""
        with self._lock:
            self._watch.note(text)

    def _tell(self) -> None:
        self._told = self._sum
        self._watch.moved(self._sum, self._left)
