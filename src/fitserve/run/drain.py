"""Drains the engine's output, whatever happens to the disk or to those who read the lines.

A pipe that is full stops an engine.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from fitserve.run.engine_log import EngineLog

_CHUNK = 64 * 1024
_LONGEST_LINE = 64 * 1024


class Drain(threading.Thread):
    """Reads a pipe to its end: every byte to the log, every line to `on_line`."""

    def __init__(self, source: int, log: EngineLog, on_line: Callable[[str], None]) -> None:
        super().__init__(name="drain", daemon=True)
        self._source, self._log, self._on_line = source, log, on_line
        self._rest = b""
        self.problem = ""  # a reader of lines failed: its error

    def run(self) -> None:
        """Until every writer has closed the pipe."""
        while chunk := self._read():
            self._log.write(chunk)
            self._split(chunk)
        if self._rest:
            self._tell(self._rest)
        self._log.close()
        os.close(self._source)

    def _read(self) -> bytes:
        try:
            return os.read(self._source, _CHUNK)
        except OSError:
            return b""

    def _split(self, chunk: bytes) -> None:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._tell(line)
        if len(self._rest) > _LONGEST_LINE:  # a progress bar that never ends its line
            self._rest = self._rest[-_LONGEST_LINE // 2 :]

    def _tell(self, line: bytes) -> None:
        try:
            self._on_line(line.decode(errors="replace").rstrip("\r"))
        except Exception as error:  # noqa: BLE001 - a reader's fault must not block the engine's pipe
            self.problem = f"{type(error).__name__}: {error}"
