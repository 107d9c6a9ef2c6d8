"""The open tabs, each with a WebSocket: what a tab has is remembered, and the difference to the newest is sent.

Nothing is queued: a slow tab costs no memory, and gets the newest state when it has time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from fitserve.chat.shelf import chat_missing
from fitserve.web.open_chat import OpenChat
from fitserve.web.refused import told

PACE_S = 0.05
Message = dict[str, object]
Status = dict[str, object]
View = Callable[[OpenChat, str], Message]  # a chat as a document in a language


@dataclass(eq=False)
class Tab:
    """One connection. What it `has` decides what it gets."""

    id: str
    reader: str
    language: str
    chat: OpenChat | None = None  # the one that it shows
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    gone: str = ""  # the chat that it showed until it was deleted, or wanted to show
    list_changed: bool = False
    status: Status | None = None  # the newest
    _status: Status | None = None  # what it has
    _version: int = -1
    _text: str = ""
    _thinking: str = ""

    def watch(self, chat: OpenChat | None) -> None:
        """It shows another chat from now on."""
        self.chat, self._version, self.gone = chat, -1, ""
        self.wake.set()

    def lose(self, chat_id: str) -> None:
        """What it shows, or wants to, is not there (any more)."""
        self.watch(None)
        self.gone = chat_id

    def news(self, view: View) -> Iterator[Message]:
        """What it lacks. Afterwards it has it."""
        if self.chat and self.chat.version != self._version:
            self._version = self.chat.version
            self._text, self._thinking = self.chat.answer_now
            yield {"event": "chat", "chat": view(self.chat, self.language)}
        elif self.chat and (self._text, self._thinking) != self.chat.answer_now:
            yield self._growth(self.chat)
        if self.gone:
            gone, self.gone = self.gone, ""
            yield {"event": "gone", "id": gone, "problem": told(chat_missing(), self.language)}
        if self.list_changed:
            self.list_changed = False
            yield {"event": "chats"}
        if self.status is not None and self.status != self._status:
            self._status = self.status
            yield {"event": "status", "status": self.status}

    def _growth(self, chat: OpenChat) -> Message:
        text, thinking = chat.answer_now
        text_at, thinking_at = _same(self._text, text), _same(self._thinking, thinking)
        self._text, self._thinking = text, thinking
        return {
            "event": "answer",
            "id": chat.chat.id,
            "turn": len(chat.turns) - 1,
            "text_at": text_at,
            "text": text[text_at:],
            "thinking_at": thinking_at,
            "thinking": thinking[thinking_at:],
        }

    async def send_news(self, send: Callable[[Message], Awaitable[None]], view: View) -> None:
        """Until it is cancelled or the connection ends."""
        while True:
            await self.wake.wait()
            self.wake.clear()
            for message in self.news(view):
                await send(message)
            await asyncio.sleep(PACE_S)


class Tabs:
    """All tabs of all readers."""

    def __init__(self) -> None:
        self._tabs: set[Tab] = set()
        self._statuses: dict[str, Status] = {}

    def __iter__(self) -> Iterator[Tab]:
        return iter(tuple(self._tabs))

    def __len__(self) -> int:
        return len(self._tabs)

    def add(self, tab: Tab) -> None:
        """It has opened."""
        self._tabs.add(tab)
        if status := self._statuses.get(tab.language):
            tab.status = status
            tab.wake.set()

    def remove(self, tab: Tab) -> None:
        """It is gone."""
        self._tabs.discard(tab)

    def chat_changed(self, chat: OpenChat) -> None:
        """Wake those that show it."""
        for tab in self._tabs:
            if tab.chat is chat:
                tab.wake.set()

    def list_changed(self, reader: str) -> None:
        """Tell all tabs of a reader to read the list of chats again."""
        for tab in self._tabs:
            if tab.reader == reader:
                tab.list_changed = True
                tab.wake.set()

    def status_changed(self, statuses: dict[str, Status]) -> None:
        """The newest status, by language. Who comes next gets it at once."""
        self._statuses = statuses
        for tab in self._tabs:
            tab.status = statuses[tab.language]
            tab.wake.set()

    def hold(self, chat: OpenChat) -> bool:
        """Whether a tab is there that asked for the answer under way, or shows the chat."""
        return any(tab.chat is chat or tab.id == chat.holder for tab in self._tabs)


def _same(old: str, new: str) -> int:
    """How far both are the same."""
    if new.startswith(old):
        return len(old)
    return next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), len(new))
