"""When an engine has to be asked because nobody else does: answers that its counters show prove as much as ours."""

from __future__ import annotations

from fitserve.run.stall import Progress


class Idle:
    """Since when nothing was answered."""

    def __init__(self, every_s: float, now: float) -> None:
        self._every_s, self._proved_at = every_s, now
        self._tokens: float | None = None
        self.asked = 0  # questions so far: each shows another picture

    def is_due(self, progress: Progress | None, now: float) -> bool:
        """Whether to ask now: idle, and nothing proved for long enough."""
        if self._moved(progress):
            self._proved_at = now
        return (progress is None or progress.running == 0) and now - self._proved_at >= self._every_s

    def answered(self, proves: bool, progress: Progress | None, now: float) -> bool:
        """Take in what came of a question; whether tokens were counted since, be they for others."""
        self.asked += 1
        moved = self._moved(progress)
        if proves:
            self._proved_at = now
        return moved

    def _moved(self, progress: Progress | None) -> bool:
        before, self._tokens = self._tokens, progress.tokens if progress else None
        return None not in (before, self._tokens) and self._tokens != before
