"""What fills the model's window: the system text, each turn, each picture, the draft, and the answer's reserve.

Pictures are counted by the model's own rule. Text is estimated from its letters; where the endpoint has counted a whole
prompt, the estimates are brought to that sum, so that only the split among them, and the draft, stay estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from fitserve.chat.conversation import Conversation, Turn
from fitserve.chat.images import Picture
from fitserve.chat.room import Room

_FULL = 0.85  # of the window: from here on dropping the oldest turns is offered
_TURN_MARKS = 8  # tokens that a chat template puts around a question and its answer
_UNKNOWN_PICTURE = 1024


class PartKind(StrEnum):
    """What a part of the window holds."""

    SYSTEM = "system"
    TURN = "turn"
    PICTURE = "picture"
    DRAFT = "draft"
    RESERVE = "reserve"


@dataclass(frozen=True)
class Part:
    """Tokens of one thing. `turn` is its number from 0, None for what belongs to none."""

    kind: PartKind
    tokens: int
    estimated: bool
    turn: int | None = None
    name: str = ""  # a picture's


@dataclass(frozen=True)
class Meter:
    """The window and what fills it. `window` is None where the endpoint does not tell."""

    parts: tuple[Part, ...]
    window: int | None
    most_pictures: int | None = None  # in one request; None where nobody tells
    counted: bool = False  # the sum of all that is already said is the endpoint's own count

    @property
    def used(self) -> int:
        """Tokens of all parts, the answer's reserve not among them."""
        return sum(part.tokens for part in self.parts if part.kind is not PartKind.RESERVE)

    @property
    def reserve(self) -> int:
        """Tokens kept for the answer."""
        return sum(part.tokens for part in self.parts if part.kind is PartKind.RESERVE)

    @property
    def estimated(self) -> bool:
        """Whether `used` is more than counts and the model's own rule can tell."""
        said = (part for part in self.parts if part.turn is not None or part.kind is PartKind.SYSTEM)
        coming = (part for part in self.parts if part.turn is None and part.kind is not PartKind.SYSTEM)
        return any(part.estimated for part in coming) or (not self.counted and any(part.estimated for part in said))

    @property
    def share(self) -> float | None:
        """Of the window, 0 to 1 and above."""
        return self.used / self.window if self.window else None

    @property
    def pictures(self) -> int:
        """How many pictures go with the next question."""
        return sum(part.kind is PartKind.PICTURE for part in self.parts)

    @property
    def too_many_pictures(self) -> bool:
        """More than the deployment allows in one request, those of earlier turns among them."""
        return self.most_pictures is not None and self.pictures > self.most_pictures

    @property
    def nearly_full(self) -> bool:
        """Whether dropping the oldest turns is to be offered: for the window, or for the number of pictures."""
        return self._over(self.parts)

    @property
    def fits(self) -> bool:
        """Whether the endpoint can take the question; True where nobody knows."""
        return self.window is None or self.used < self.window

    def since_after_drop(self) -> int | None:
        """Where the context has to begin so that it is no longer nearly full; None where nothing helps or needs to."""
        parts, since = self.parts, None
        for number in sorted({part.turn for part in self.parts if part.turn is not None}):
            if not self._over(parts):
                break
            parts = tuple(part for part in parts if part.turn != number)
            since = number + 1
        return since

    def _over(self, parts: tuple[Part, ...]) -> bool:
        rest = replace(self, parts=parts)
        if self.window is None:
            return rest.too_many_pictures
        return rest.too_many_pictures or rest.used > min(_FULL * self.window, self.window - self.reserve)


def meter(talk: Conversation, room: Room, text: str = "", pictures: tuple[Picture, ...] = ()) -> Meter:
    """The window as the next question would fill it."""
    said = [Part(PartKind.SYSTEM, text_tokens(talk.system), True)] if talk.system else []
    said += [part for number, turn in _sent(talk) for part in _turn(number, turn, room)]
    total = _counted(talk)
    counted = total is not None and total >= sum(part.tokens for part in said if not part.estimated)
    parts = _brought_to(total or 0, said) if counted else said
    coming = [_picture(picture, None, room) for picture in pictures]
    if text or pictures:
        coming.append(Part(PartKind.DRAFT, text_tokens(text) + _TURN_MARKS, True))
    reserve = Part(PartKind.RESERVE, room.reserve, False)
    return Meter((*parts, *coming, reserve), room.window, room.pictures, counted)


def text_tokens(text: str) -> int:
    """An estimate: four Latin letters or one and a half Chinese characters a token."""
    wide = sum(1 for char in text if ord(char) >= 0x2E80)
    return -(-(len(text) - wide) // 4) + -(-wide * 2 // 3)


def _sent(talk: Conversation) -> list[tuple[int, Turn]]:
    return [(number, turn) for number, turn in enumerate(talk.turns) if number >= talk.since and turn.counts]


def _turn(number: int, turn: Turn, room: Room) -> list[Part]:
    text = text_tokens(turn.question) + text_tokens(turn.answer) + _TURN_MARKS
    return [*(_picture(one, number, room) for one in turn.pictures), Part(PartKind.TURN, text, True, number)]


def _picture(picture: Picture, number: int | None, room: Room) -> Part:
    tokens = room.rule.tokens(picture.width, picture.height) if room.rule else picture.tokens
    known = tokens if tokens is not None else _UNKNOWN_PICTURE
    return Part(PartKind.PICTURE, known, tokens is None, number, picture.name)


def _counted(talk: Conversation) -> int | None:
    """The last prompt as the endpoint counted it, with its answer; None where that was another context.

    What was thought is counted with the answer but not sent again: then the answer's own part is estimated.
    """
    last = talk.turns[-1] if talk.turns else None
    if last is None or not last.counts or last.figures.usage is None or last.since != talk.since:
        return None
    usage = last.figures.usage
    return usage.prompt_tokens + (text_tokens(last.answer) if last.thinking else usage.completion_tokens)


def _brought_to(total: int, parts: list[Part]) -> list[Part]:
    """The estimated parts scaled so that all together are `total`."""
    loose = total - sum(part.tokens for part in parts if not part.estimated)
    weight = sum(part.tokens for part in parts if part.estimated)
    brought = []
    for part in parts:
        if part.estimated and weight:
            tokens = loose * part.tokens // weight
            loose, weight = loose - tokens, weight - part.tokens
            part = replace(part, tokens=tokens)
        brought.append(part)
    return brought
