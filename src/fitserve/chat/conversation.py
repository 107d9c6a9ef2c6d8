"""A conversation as values: turns are added, never changed. Only what was answered is sent again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from fitserve.chat.images import Picture


class OnNewPicture(StrEnum):
    """What a new picture does to what was said before it."""

    START_OVER = "start_over"  # the old picture must not answer for the new one
    KEEP = "keep"  # compare them


@dataclass(frozen=True)
class Turn:
    """One question and its answer. `answer` may be the part that came before a stop."""

    question: str
    pictures: tuple[Picture, ...] = ()
    answer: str = ""


@dataclass(frozen=True)
class Question:
    """A question within its conversation. `set_aside` holds the turns that a new picture left behind."""

    turn: Turn
    before: Conversation
    set_aside: tuple[Turn, ...] = ()

    @property
    def started_over(self) -> bool:
        """Whether the reader has to be told that earlier turns are not sent."""
        return bool(self.set_aside)

    def messages(self) -> list[dict[str, object]]:
        """What is sent, as OpenAI chat messages."""
        return [*self.before.messages(), _user(self.turn)]

    def answered(self, answer: str) -> Conversation:
        """The conversation with this turn at its end."""
        return replace(self.before, turns=(*self.before.turns, replace(self.turn, answer=answer)))

    def kept(self) -> Question:
        """The same question with the turns that were set aside put back."""
        return Question(self.turn, replace(self.before, turns=(*self.set_aside, *self.before.turns)))


@dataclass(frozen=True)
class Conversation:
    """Answered turns, oldest first, and an optional system text."""

    turns: tuple[Turn, ...] = ()
    system: str = ""

    @property
    def has_picture(self) -> bool:
        """Whether any turn carries one."""
        return any(turn.pictures for turn in self.turns)

    def ask(self, text: str, pictures: tuple[Picture, ...], policy: OnNewPicture) -> Question:
        """The next question. A picture after turns starts over, unless the policy keeps them."""
        turn = Turn(text, pictures)
        if pictures and self.turns and policy is OnNewPicture.START_OVER:
            return Question(turn, replace(self, turns=()), self.turns)
        return Question(turn, self)

    def messages(self) -> list[dict[str, object]]:
        """All turns as OpenAI chat messages."""
        messages: list[dict[str, object]] = [{"role": "system", "content": self.system}] if self.system else []
        for turn in self.turns:
            messages += [_user(turn), {"role": "assistant", "content": turn.answer}]
        return messages


def _user(turn: Turn) -> dict[str, object]:
    if not turn.pictures:
        return {"role": "user", "content": turn.question}
    parts: list[dict[str, object]] = [
        {"type": "image_url", "image_url": {"url": picture.data_url}} for picture in turn.pictures
    ]
    return {"role": "user", "content": [*parts, {"type": "text", "text": turn.question}]}
