"""A conversation as values: turns are added, never changed. Only what was answered is sent again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from fitserve.chat.answer import Answer, Usage
from fitserve.chat.images import Picture
from fitserve.chat.said import Said, said

BROKEN = "broken"  # the finish reason of an answer that a failure ended
_WHOLE = ("stop", "tool_calls", "function_call")


class OnNewPicture(StrEnum):
    """What a new picture does to what was said before it."""

    START_OVER = "start_over"  # the old picture must not answer for the new one
    KEEP = "keep"  # compare them


@dataclass(frozen=True)
class Figures:
    """How an answer came: None is what nobody counted."""

    usage: Usage | None = None
    first_token_s: float | None = None
    seconds: float | None = None
    tokens_per_second: float | None = None
    finish_reason: str = ""  # empty: stopped, or broken off
    model: str = ""

    @classmethod
    def of(cls, answer: Answer, model: str = "") -> Figures:
        """What has come so far."""
        counted = answer.usage, answer.first_token_s, answer.seconds, answer.tokens_per_second
        return cls(*counted, answer.finish_reason, model)

    @property
    def line(self) -> Said | None:
        """Time to the first token, speed and tokens, as far as they are known; None where nothing came."""
        if self.first_token_s is None:
            return None
        first = f"{self.first_token_s:.2f}"
        if self.usage is None:
            return said("chat.figures_unknown", first=first)
        counts = {"first": first, "answer": self.usage.completion_tokens, "prompt": self.usage.prompt_tokens}
        if self.tokens_per_second is None:
            return said("chat.figures_brief", **counts)
        return said("chat.figures", speed=f"{self.tokens_per_second:.1f}", **counts)


@dataclass(frozen=True)
class Turn:
    """One question and its answer. `answer` may be the part that came before a stop, or empty."""

    question: str
    pictures: tuple[Picture, ...] = ()
    answer: str = ""
    thinking: str = ""
    figures: Figures = Figures()
    key: str = ""  # tells it apart in a history
    since: int = 0  # the first turn that was sent with it

    @property
    def counts(self) -> bool:
        """Whether it is sent with later questions: answered, if only up to a stop, and not broken off."""
        return bool(self.answer) and self.figures.finish_reason != BROKEN

    @property
    def unfinished(self) -> Said | None:
        """What is to be said of an answer that did not come to its end."""
        return unfinished(self.figures.finish_reason) if self.answer or self.thinking else None

    def answered(self, answer: Answer, model: str = "") -> Turn:
        """With what has come."""
        return replace(self, answer=answer.text, thinking=answer.thinking, figures=Figures.of(answer, model))


@dataclass(frozen=True)
class Question:
    """A question within its conversation: `before` holds the turns in front of it, `since` says which were sent."""

    turn: Turn
    before: Conversation
    since: int = 0  # where the context began before this question

    @property
    def started_over(self) -> bool:
        """Whether the reader has to be told that earlier turns are not sent."""
        return self.before.since > self.since

    def messages(self) -> list[dict[str, object]]:
        """What is sent, as OpenAI chat messages."""
        return [*self.before.messages(), _user(self.turn)]

    def answered(self, answer: Answer, model: str = "") -> Conversation:
        """The conversation with this turn at its end."""
        return replace(self.before, turns=(*self.before.turns, self.turn.answered(answer, model)))

    def kept(self) -> Question:
        """The same question with the turns that were set aside put back."""
        return Question(replace(self.turn, since=self.since), self.before.starting_at(self.since), self.since)


@dataclass(frozen=True)
class Conversation:
    """All turns, oldest first, and an optional system text. Turns before `since` are shown but no longer sent."""

    turns: tuple[Turn, ...] = ()
    system: str = ""
    since: int = 0
    since_before: int = 0  # where the context began before it was last moved
    undo: Conversation | None = field(default=None, repr=False)  # as it was before an answer was replaced

    @property
    def sent(self) -> tuple[Turn, ...]:
        """The turns that go with the next question: in the context, and answered."""
        return tuple(turn for turn in self.turns[self.since :] if turn.counts)

    def ask(self, text: str, pictures: tuple[Picture, ...], policy: OnNewPicture) -> Question:
        """The next question. A picture after turns starts over, unless the policy keeps them."""
        before = self._without_silent_end()
        if pictures and before.sent and policy is OnNewPicture.START_OVER:
            before = before.starting_at(len(before.turns))
        return Question(Turn(text, pictures, since=before.since), before, min(self.since, len(before.turns)))

    def again(self) -> Question | None:
        """The last question once more; None where there is none. The answer it had can be brought back: `undone`."""
        return self.edited(len(self.turns) - 1) if self.turns else None

    def edited(self, index: int, text: str | None = None, pictures: tuple[Picture, ...] | None = None) -> Question:
        """The question at `index`, changed, with the turns before it. What came after can be brought back: `undone`."""
        turn = self.turns[index]
        kept = replace(self, turns=self.turns[:index], since=min(self.since, index), undo=self.undo_from(index))
        words, seen = turn.question if text is None else text, turn.pictures if pictures is None else pictures
        return Question(Turn(words, seen, since=kept.since), kept, kept.since)

    def undo_from(self, index: int) -> Conversation | None:
        """What `undone` gives back once the turns from `index` on are gone: this, where an answer is among them."""
        return replace(self, undo=None) if any(turn.answer for turn in self.turns[index:]) else self.undo

    def undone(self) -> Conversation:
        """As it was before the last replaced answer; a second time gives the newer one back."""
        return replace(self.undo, undo=replace(self, undo=None)) if self.undo else self

    def starting_at(self, since: int) -> Conversation:
        """The same turns with those before `since` no longer sent. `starting_at(since_before)` takes it back."""
        since = max(0, min(since, len(self.turns)))
        return replace(self, since=since, since_before=self.since) if since != self.since else self

    def messages(self) -> list[dict[str, object]]:
        """The turns in the context as OpenAI chat messages."""
        messages: list[dict[str, object]] = [{"role": "system", "content": self.system}] if self.system else []
        for turn in self.sent:
            messages += [_user(turn), {"role": "assistant", "content": turn.answer}]
        return messages

    def _without_silent_end(self) -> Conversation:
        """A question that was never answered gives way to the next one."""
        silent = bool(self.turns) and not (self.turns[-1].answer or self.turns[-1].thinking)
        turns = self.turns[:-1] if silent else self.turns
        return replace(self, turns=turns, since=min(self.since, len(turns)))


def unfinished(finish_reason: str) -> Said | None:
    """That an answer was stopped, cut off or broken off; None for one that came to its end."""
    if finish_reason in _WHOLE:
        return None
    return said({"": "chat.stopped", "length": "chat.cut_off"}.get(finish_reason, "chat.broken_off"))


def _user(turn: Turn) -> dict[str, object]:
    if not turn.pictures:
        return {"role": "user", "content": turn.question}
    parts: list[dict[str, object]] = [
        {"type": "image_url", "image_url": {"url": picture.data_url}} for picture in turn.pictures if picture.data
    ]
    return {"role": "user", "content": [*parts, {"type": "text", "text": turn.question}]}
