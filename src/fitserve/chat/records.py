"""A chat as lines: what happened, one JSON object each, and the chat that they add up to.

A line that is no such object is passed over: the last one may have been cut in half by a crash, and a later version
may know more kinds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import msgspec

from fitserve.chat.conversation import Conversation, Figures, Question, Turn
from fitserve.chat.images import Picture
from fitserve.chat.said import Said

PictureBytes = Callable[[str], bytes | None]  # by digest; None where the file is gone
_TITLE_LENGTH = 60
SCHEMA_VERSION = 1


class Record(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """Something that happened. `at` is the wall clock, in seconds; the shelf sets it."""

    at: float = 0.0


class Begun(Record, frozen=True, kw_only=True, tag="chat"):
    """The first line."""

    schema_version: int = SCHEMA_VERSION
    system: str = ""


class Titled(Record, frozen=True, kw_only=True, tag="title"):
    """The reader's own title; empty gives the first question back."""

    title: str


class Pictured(msgspec.Struct, frozen=True, kw_only=True):
    """A picture without its bytes: those are a file, or not, by `digest`."""

    name: str
    digest: str
    media_type: str
    width: int
    height: int
    original_width: int
    original_height: int
    tokens: int | None = None
    whole_tokens: int | None = None
    notices: list[tuple[str, dict[str, str]]] = []


class Asked(Record, frozen=True, kw_only=True, tag="asked"):
    """A question as it is sent: it takes the place of the turns from `at_turn` on; those before `since` stay back."""

    key: str
    question: str
    pictures: list[Pictured]
    at_turn: int
    since: int


class Answered(Record, frozen=True, kw_only=True, tag="answered"):
    """What came of the question with this key."""

    key: str
    answer: str
    thinking: str = ""
    figures: Figures = Figures()


class Moved(Record, frozen=True, kw_only=True, tag="since"):
    """Turns before `since` are no longer sent."""

    since: int


class Undone(Record, frozen=True, kw_only=True, tag="undo"):
    """The replaced answer is brought back."""


_LINE = msgspec.json.Decoder(Begun | Titled | Asked | Answered | Moved | Undone)


@dataclass(frozen=True)
class Chat:
    """One chat of a history. Times are seconds of the wall clock."""

    id: str
    title: str = ""  # the reader's own; else see `name`
    created: float = 0.0
    updated: float = 0.0
    conversation: Conversation = field(default_factory=Conversation)

    @property
    def name(self) -> str:
        """The title, or the beginning of the first question; empty where nothing was asked."""
        if self.title or not self.conversation.turns:
            return self.title
        line = " ".join(self.conversation.turns[0].question.split())
        return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1] + "…"


def asked(question: Question) -> Asked:
    """A question's record."""
    turn, before = question.turn, question.before
    pictures = [pictured(picture) for picture in turn.pictures]
    return Asked(key=turn.key, question=turn.question, pictures=pictures, at_turn=len(before.turns), since=before.since)


def answered(turn: Turn) -> Answered:
    """An answer's record."""
    return Answered(key=turn.key, answer=turn.answer, thinking=turn.thinking, figures=turn.figures)


def pictured(picture: Picture) -> Pictured:
    """A picture's record."""
    return Pictured(
        name=picture.name,
        digest=picture.digest,
        media_type=picture.media_type,
        width=picture.width,
        height=picture.height,
        original_width=picture.original_width,
        original_height=picture.original_height,
        tokens=picture.tokens,
        whole_tokens=picture.whole_tokens,
        notices=[(notice.key, {name: str(value) for name, value in notice.values}) for notice in picture.notices],
    )


def to_line(record: Record) -> bytes:
    """One line of the file. Half a surrogate pair, which a model may leave, becomes a question mark."""
    try:
        return msgspec.json.encode(record) + b"\n"
    except UnicodeEncodeError:
        plain = json.dumps(msgspec.to_builtins(record), ensure_ascii=False)
        return plain.encode("utf-8", "replace") + b"\n"


def from_lines(data: bytes) -> list[Record]:
    """Every line that is a record."""
    found: list[Record] = []
    for line in data.split(b"\n"):
        try:
            found.append(_LINE.decode(line))
        except msgspec.DecodeError:
            continue
    return found


def folded(chat_id: str, records: Iterable[Record], picture_bytes: PictureBytes) -> Chat:
    """The chat that the records add up to, whatever they are."""
    chat = Chat(chat_id)
    for record in records:
        chat = _after(chat, record, picture_bytes)
        chat = replace(chat, created=chat.created or record.at, updated=max(record.at, chat.updated))
    return chat


def _after(chat: Chat, record: Record, picture_bytes: PictureBytes) -> Chat:
    talk = chat.conversation
    match record:
        case Titled():
            return replace(chat, title=record.title)
        case Begun():
            talk = replace(talk, system=record.system)
        case Asked():
            talk = _with_question(talk, record, picture_bytes)
        case Answered():
            turns = (_with_answer(turn, record) if turn.key == record.key else turn for turn in talk.turns)
            talk = replace(talk, turns=tuple(turns))
        case Moved():
            talk = talk.starting_at(record.since)
        case Undone():
            talk = talk.undone()
    return replace(chat, conversation=talk)


def _with_question(talk: Conversation, record: Asked, picture_bytes: PictureBytes) -> Conversation:
    at_turn = max(0, min(record.at_turn, len(talk.turns)))
    moved = talk.starting_at(min(record.since, at_turn))
    pictures = tuple(_picture(entry, picture_bytes) for entry in record.pictures)
    turn = Turn(record.question, pictures, key=record.key, since=moved.since)
    return replace(moved, turns=(*talk.turns[:at_turn], turn), undo=talk.undo_from(at_turn))


def _with_answer(turn: Turn, record: Answered) -> Turn:
    return replace(turn, answer=record.answer, thinking=record.thinking, figures=record.figures)


def _picture(entry: Pictured, picture_bytes: PictureBytes) -> Picture:
    return Picture(
        name=entry.name,
        width=entry.width,
        height=entry.height,
        original_width=entry.original_width,
        original_height=entry.original_height,
        data=picture_bytes(entry.digest) or b"",  # one whose file is gone is still named
        media_type=entry.media_type,
        notices=tuple(Said(key, tuple(values.items())) for key, values in entry.notices),
        tokens=entry.tokens,
        whole_tokens=entry.whole_tokens,
    )
