"""GPU memory while a load runs: sampled in a thread of its own, the peak of each card kept."""

from __future__ import annotations

import threading
import time
from typing import Protocol

_EVERY_S = 0.25


class UsedMemory(Protocol):
    """Bytes in use on each card; None where no driver can say. `observe.gpu_memory` has the real one."""

    def used_bytes(self) -> tuple[int, ...] | None: ...


class MemoryWatch(threading.Thread):
    """Samples until it is ended. `samples` are (seconds of the monotonic clock, bytes a card)."""

    def __init__(self, memory: UsedMemory) -> None:
        super().__init__(name="memory", daemon=True)
        self._memory = memory
        self._ended = threading.Event()
        self.samples: list[tuple[float, tuple[int, ...]]] = []

    def run(self) -> None:
        """Look, wait, look again: what can't be seen yet (nothing runs) may be seen later."""
        while not self._ended.is_set():
            used = self._memory.used_bytes()
            if used is not None:
                self.samples.append((time.monotonic(), used))
            self._ended.wait(getattr(self._memory, "every_s", _EVERY_S))

    def end(self) -> tuple[int, ...] | None:
        """Stop, and the peak of each card; None where nothing is known."""
        self._ended.set()
        self.join(5.0)
        rows = [used for _, used in self.samples]
        return tuple(max(card) for card in zip(*rows, strict=True)) if rows else None
