"""Where chats are kept: on the reader's disk, or nowhere but in this process (history switched off)."""

from __future__ import annotations

import secrets
from typing import Protocol

import msgspec

from fitserve.chat.images import Picture
from fitserve.chat.records import Begun, Chat, Record, folded, from_lines, to_line
from fitserve.chat.said import ChatMissing, said
from fitserve.clock import Clock, SystemClock


class Shelf(Protocol):
    """The chats of one reader. Every method raises ChatMissing for a chat that is not there (any more)."""

    keeps: bool  # whether what is put here outlives the process

    def create(self, system: str = "") -> Chat: ...
    def chats(self) -> tuple[Chat, ...]:
        """All, the latest first; their conversations may be left out."""
        ...

    def load(self, chat_id: str) -> Chat: ...
    def append(self, chat_id: str, record: Record, pictures: tuple[Picture, ...] = ()) -> None: ...
    def picture(self, chat_id: str, digest: str) -> bytes | None:
        """A picture's file by its digest."""
        ...

    def delete(self, chat_id: str) -> None:
        """The chat with its pictures."""
        ...


class MemoryShelf:
    """Chats that end with the process; at most `most`, the oldest go first."""

    keeps = False

    def __init__(self, clock: Clock | None = None, most: int = 200) -> None:
        self._clock = clock or SystemClock()
        self._most = most
        self._lines: dict[str, list[bytes]] = {}
        self._pictures: dict[str, dict[str, bytes]] = {}

    def create(self, system: str = "") -> Chat:
        """A new chat."""
        chat_id = new_id()
        while len(self._lines) >= self._most:
            self.delete(next(iter(self._lines)))
        self._lines[chat_id], self._pictures[chat_id] = [], {}
        self.append(chat_id, Begun(system=system))
        return self.load(chat_id)

    def chats(self) -> tuple[Chat, ...]:
        """All, the latest first."""
        return tuple(sorted(map(self.load, self._lines), key=lambda chat: -chat.updated))

    def load(self, chat_id: str) -> Chat:
        """With its pictures."""
        records = from_lines(b"".join(self._known(chat_id)))
        return folded(chat_id, records, self._pictures[chat_id].get)

    def append(self, chat_id: str, record: Record, pictures: tuple[Picture, ...] = ()) -> None:
        """One thing that happened."""
        self._known(chat_id).append(to_line(msgspec.structs.replace(record, at=self._clock.now())))
        self._pictures[chat_id] |= {picture.digest: picture.data for picture in pictures}

    def picture(self, chat_id: str, digest: str) -> bytes | None:
        """A picture's bytes by its digest."""
        self._known(chat_id)
        return self._pictures[chat_id].get(digest)

    def delete(self, chat_id: str) -> None:
        """The chat with its pictures."""
        self._known(chat_id)
        del self._lines[chat_id], self._pictures[chat_id]

    def _known(self, chat_id: str) -> list[bytes]:
        if chat_id not in self._lines:
            raise chat_missing()
        return self._lines[chat_id]


def new_id() -> str:
    """Not to be guessed: who knows a chat's id may read it."""
    return secrets.token_hex(12)


def chat_missing() -> ChatMissing:
    """For an id that leads nowhere."""
    return ChatMissing(said("chat.gone"), code="chat_gone", next_step=said("chat.gone_next"))
