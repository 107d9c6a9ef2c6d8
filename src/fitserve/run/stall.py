"""An engine whose door opens may still have stopped working: requests run, and no counter moves."""

from __future__ import annotations

from dataclasses import dataclass

_MARGIN = 4.0  # a long prompt's tokens take longer each than those of short ones, which the counters mostly saw
_SLOWEST = 50.0  # prompt tokens a second, where nothing was measured


@dataclass(frozen=True)
class Progress:
    """What the engine counts: requests in work now, and since its start: all tokens read and written, prompt tokens
    and the seconds that reading them took (0 where it does not say)."""

    running: int
    tokens: float
    prompt_tokens: float = 0.0
    prefill_s: float = 0.0


class Stall:
    """Watches the counters. A prompt is counted when the whole of it was read: standing still for as long as the
    longest prompt takes is no sign of anything. `limit_s` is the least that is waited."""

    def __init__(self, limit_s: float, longest_prompt: int | None = None) -> None:
        self._limit_s, self._longest_prompt = limit_s, longest_prompt or 0
        self._tokens = -1.0
        self._moved_at = 0.0

    def moves(self, progress: Progress | None, now: float) -> bool:
        """Whether it works, or has nothing to do. What is not known is not held against it."""
        if progress is None or progress.running == 0 or progress.tokens != self._tokens:
            self._tokens = -1.0 if progress is None else progress.tokens
            self._moved_at = now
        return now - self._moved_at <= max(self._limit_s, self._longest_prefill(progress))

    def _longest_prefill(self, progress: Progress | None) -> float:
        """Seconds, from the speed at which this engine has read its prompts so far."""
        if progress is None or not progress.prefill_s or not progress.prompt_tokens:
            return self._longest_prompt / _SLOWEST
        return _MARGIN * self._longest_prompt * progress.prefill_s / progress.prompt_tokens
