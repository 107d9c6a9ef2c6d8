"""An engine whose door opens may still have stopped working: requests run, and no counter moves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """What the engine counts: requests in work now, and all tokens read and written since its start."""

    running: int
    tokens: float


class Stall:
    """Watches the counters. `limit_s` must be longer than the longest time between two steps (a long prefill)."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._tokens = -1.0
        self._moved_at = 0.0

    def moves(self, progress: Progress | None, now: float) -> bool:
        """Whether it works, or has nothing to do. What is not known is not held against it."""
        if progress is None or progress.running == 0 or progress.tokens != self._tokens:
            self._tokens = -1.0 if progress is None else progress.tokens
            self._moved_at = now
        return now - self._moved_at <= self._limit_s
