"""An answer while it grows: what is said, what is thought, and how fast it came."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

_FEWEST_TOKENS, _SHORTEST_S = 8, 0.05  # below, they came in a burst: no rate is measured
_OPEN, _CLOSE = "<think>", "</think>"


@dataclass(frozen=True)
class TextDelta:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True)
class ThinkingDelta:
    """A piece of what the model thinks, where the endpoint tells it apart."""

    text: str


@dataclass(frozen=True)
class Usage:
    """Tokens as the endpoint counted them."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class Finish:
    """Why it ended: `stop`, `length`, or what the endpoint says."""

    reason: str


Event = TextDelta | ThinkingDelta | Usage | Finish


@dataclass(frozen=True)
class Answer:
    """All that has come so far. Seconds are None until the thing they time has happened."""

    raw: str = ""
    told_thinking: str = ""
    finish_reason: str = ""
    usage: Usage | None = None
    first_token_s: float | None = None
    seconds: float | None = None
    _parts: tuple[str, str] = field(default=("", ""), repr=False)

    @property
    def text(self) -> str:
        """The answer without its thinking."""
        return self._parts[1]

    @property
    def thinking(self) -> str:
        """What was thought, whichever way the endpoint told it."""
        return self.told_thinking + self._parts[0]

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens after the first, over the time after the first. None where nobody counted, or it came in a burst."""
        if self.usage is None or self.first_token_s is None or self.seconds is None:
            return None
        later, lasted = self.usage.completion_tokens - 1, self.seconds - self.first_token_s
        return later / lasted if later >= _FEWEST_TOKENS and lasted >= _SHORTEST_S else None

    def grown(self, event: Event, elapsed_s: float) -> Answer:
        """The answer after one event that came `elapsed_s` after the question was sent."""
        if isinstance(event, Usage):
            return replace(self, usage=event)
        if isinstance(event, Finish):
            return replace(self, finish_reason=event.reason, seconds=elapsed_s, _parts=split_thinking(self.raw, True))
        first = elapsed_s if self.first_token_s is None else self.first_token_s
        timed = replace(self, first_token_s=first, seconds=elapsed_s)
        if isinstance(event, ThinkingDelta):
            return replace(timed, told_thinking=self.told_thinking + event.text)
        raw = self.raw + event.text
        return replace(timed, raw=raw, _parts=split_thinking(raw))


def split_thinking(raw: str, ended: bool = False) -> tuple[str, str]:
    """(thinking, text) of an answer with `<think>` marks in it. While it grows, a mark cut in half is held back.

    A closing mark without an opening one counts too: chat templates put the opening mark into the prompt.
    """
    seen = raw if ended else _whole_marks(raw)
    opened = seen.lstrip().startswith(_OPEN)
    thinking, closed, text = seen.partition(_CLOSE)
    if closed or opened:
        return thinking.lstrip().removeprefix(_OPEN).strip("\n"), text.lstrip("\n")
    return "", seen


def _whole_marks(raw: str) -> str:
    """Without the beginning of a mark at the very end: the rest of it may be on its way."""
    for mark in (_CLOSE, _OPEN):
        for length in range(len(mark) - 1, 0, -1):
            if raw.endswith(mark[:length]):
                return raw[:-length]
    return raw
