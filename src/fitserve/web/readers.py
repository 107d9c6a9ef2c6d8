"""All readers: their desks, their open chats, their tabs."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from pathlib import Path
from typing import TYPE_CHECKING

from fitserve.chat.desk import Desk
from fitserve.chat.disk_shelf import DiskShelf
from fitserve.chat.images import Limits, Picture
from fitserve.chat.records import Chat
from fitserve.chat.said import ChatMissing, said
from fitserve.chat.shelf import MemoryShelf
from fitserve.web.open_chat import OpenChat
from fitserve.web.refused import Invalid
from fitserve.web.settings import PageSettings, load_settings, save_settings
from fitserve.web.tabs import Tab, Tabs

if TYPE_CHECKING:
    from fitserve.chat.endpoint import Endpoint
    from fitserve.chat.room import Room

_GRACE_S = 0.5  # a tab that was closed has to free its slot within a second
_TORN_S = 5.0  # a line that tore may come back
_ARRIVAL_S = 15.0  # a page that was sent has opened its socket by then, on a busy machine too, or never will
_LOOK_S = 0.1
_MOST_OPEN = 100  # chats of one reader in memory
_MOST_READERS = 200  # with something in memory
_MOST_PREPARED = 64  # pictures of one reader that are not sent yet


class ReaderDesk:
    """One reader: two shelves (what is kept, and what is not), settings, pictures that are prepared but not sent."""

    def __init__(self, folder: Path, endpoint: Endpoint, room: Room, tabs: Tabs, reader: str) -> None:
        self._file = folder / "settings.json"
        self._tabs, self._reader = tabs, reader
        self._open: OrderedDict[str, OpenChat] = OrderedDict()
        self._prepared: OrderedDict[str, Picture] = OrderedDict()
        self.kept = Desk(endpoint, DiskShelf(folder / "chats"), room)
        self.unkept = Desk(endpoint, MemoryShelf(), room)
        self.settings = load_settings(self._file)

    @property
    def desk(self) -> Desk:
        """Where a new chat begins."""
        return self.kept if self.settings.history else self.unkept

    def chats(self) -> tuple[Chat, ...]:
        """All, the latest first."""
        both = (*self.unkept.shelf.chats(), *self.kept.shelf.chats())
        return tuple(sorted(both, key=lambda chat: -chat.updated))

    def choose(self, settings: PageSettings) -> None:
        """Keep what the reader has chosen."""
        save_settings(self._file, settings)
        self.settings = settings

    def create(self) -> OpenChat:
        """A new chat."""
        return self._opened(self.desk.shelf.create(), self.desk)

    async def chat(self, chat_id: str) -> OpenChat:
        """A chat of this reader. Raises ChatMissing."""
        if chat_id in self._open:
            self._open.move_to_end(chat_id)
            return self._open[chat_id]
        try:
            opened = self._opened(self.unkept.shelf.load(chat_id), self.unkept)
        except ChatMissing:
            opened = self._opened(self.kept.shelf.load(chat_id), self.kept)
        await opened.weigh()
        return opened

    async def delete(self, chat_id: str) -> None:
        """The chat, on the shelf and in the tabs that show it."""
        chat = await self.chat(chat_id)
        while chat.answering:
            await chat.stop()
        chat.desk.delete(chat_id)
        self._open.pop(chat_id, None)
        for tab in self._tabs:
            if tab.chat is chat:
                tab.lose(chat_id)
        self._tabs.list_changed(self._reader)

    def is_answering(self, chat_id: str) -> bool:
        """Whether an answer is under way in it."""
        return chat_id in self._open and self._open[chat_id].answering

    @property
    def answering(self) -> tuple[OpenChat, ...]:
        """The chats in which an answer is under way."""
        return tuple(chat for chat in self._open.values() if chat.answering)

    async def limits(self) -> Limits:
        """What a picture is shrunk to; an endpoint that is away tells nothing."""
        return (await self.desk.room()).limits

    def keep(self, picture: Picture) -> None:
        """A prepared picture, until it is sent or many others have come."""
        self._prepared[picture.digest] = picture
        self._prepared.move_to_end(picture.digest)
        while len(self._prepared) > _MOST_PREPARED:
            self._prepared.popitem(last=False)

    def pictures(self, ids: list[str], chat: OpenChat | None = None) -> tuple[Picture, ...]:
        """Prepared pictures, or such as the chat has already. Raises Invalid."""
        known = {one.digest: one for turn in chat.turns for one in turn.pictures} if chat else {}
        known |= self._prepared
        if missing := [digest for digest in ids if digest not in known]:
            raise Invalid(said("page.no_such_picture"), code="no_such_picture", evidence=missing[0])
        return tuple(known[digest] for digest in ids)

    def _opened(self, chat: Chat, desk: Desk) -> OpenChat:
        opened = self._open.setdefault(chat.id, OpenChat(chat, desk, self._changed))
        for old in tuple(self._open.values())[: max(0, len(self._open) - _MOST_OPEN)]:
            if not old.answering and not self._tabs.hold(old):
                del self._open[old.chat.id]
        return opened

    def _changed(self, chat: OpenChat, listed: bool) -> None:
        self._tabs.chat_changed(chat)
        if listed:
            self._tabs.list_changed(self._reader)


class Readers:
    """`folder`: a folder a reader below it."""

    def __init__(self, endpoint: Endpoint, folder: Path, room: Room) -> None:
        self.endpoint = endpoint
        self.tabs = Tabs()
        self._folder = folder
        self._room = room
        self._known: dict[str, ReaderDesk] = {}
        self._waiting: set[asyncio.Task[None]] = set()
        self._arriving: dict[str, deque[float]] = {}  # when the page was sent to a reader whose socket is still to come

    def __getitem__(self, reader: str) -> ReaderDesk:
        """By the id in their cookie."""
        if reader not in self._known:
            self._forget_idle()
            self._known[reader] = ReaderDesk(self._folder / reader, self.endpoint, self._room, self.tabs, reader)
        return self._known[reader]

    def _forget_idle(self) -> None:
        """Of many readers, those who have no tab: their chats are on the shelf, but for what was not to be kept."""
        here = {tab.reader for tab in self.tabs}
        for reader in tuple(self._known)[: max(0, len(self._known) - _MOST_READERS)]:
            if reader not in here and not self._known[reader].answering:
                del self._known[reader]

    def page_sent(self, reader: str) -> None:
        """A browser is loading the page: a reload asks for it before the old socket is closed."""
        self._arriving.setdefault(reader, deque(maxlen=16)).append(time.monotonic())

    def tab_opened(self, tab: Tab) -> None:
        """The socket of a page that was sent."""
        self.tabs.add(tab)
        if self._arriving.get(tab.reader):
            self._arriving[tab.reader].popleft()

    def tab_closed(self, tab: Tab, left: bool) -> None:
        """After a moment, stop the answers that nobody waits for. `left`: it said so itself."""
        self.tabs.remove(tab)
        if reader := self._known.get(tab.reader):
            self._free_later(tab.reader, reader.answering, _GRACE_S if left else _TORN_S)

    def asked(self, reader: str, chat: OpenChat) -> None:
        """A question may come before its tab's socket, or after: where no socket comes, nobody waits for the answer."""
        if chat.answering and chat.holder and not self.tabs.hold(chat):
            self._free_later(reader, (chat,), _TORN_S)

    def _free_later(self, reader: str, chats: tuple[OpenChat, ...], grace_s: float) -> None:
        task = asyncio.create_task(self._free(reader, {chat: chat.asked for chat in chats}, grace_s))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    async def close(self) -> None:
        """Stop all answers and keep what came."""
        for reader in self._known.values():
            for chat in reader.answering:
                await chat.stop()

    async def _free(self, reader: str, answers: dict[OpenChat, int], grace_s: float) -> None:
        """These answers, by the number of their question; one that was asked meanwhile is another tab's."""
        await asyncio.sleep(grace_s)
        while self._is_arriving(reader):
            await asyncio.sleep(_LOOK_S)
        for chat, asked in answers.items():
            if chat.asked == asked and not self.tabs.hold(chat):
                await chat.stop()

    def _is_arriving(self, reader: str) -> bool:
        sent = self._arriving.get(reader)
        while sent and time.monotonic() - sent[0] > _ARRIVAL_S:
            sent.popleft()
        return bool(sent)
