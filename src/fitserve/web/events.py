"""`/api/events`: the WebSocket of one tab. It says what it shows, and gets what it lacks."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.websockets import WebSocketDisconnect

from fitserve.chat.said import ChatMissing
from fitserve.web.intake import reader_of_request
from fitserve.web.tabs import Tab
from fitserve.web.view import chat_document

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.websockets import WebSocket

    from fitserve.web.readers import Readers

_LEFT = (1000, 1001)  # said by a browser that closes a tab; a line that tore says nothing


def events(readers: Readers) -> Callable[[WebSocket], Awaitable[None]]:
    """The endpoint."""

    async def listen(socket: WebSocket) -> None:
        reader = reader_of_request(socket)
        if reader.is_new:  # the page sets the cookie; who has none has not opened it
            await socket.close(1008)
            return
        await socket.accept()
        language = "zh" if socket.query_params.get("language") == "zh" else "en"
        tab = Tab(socket.query_params.get("tab", "")[:64], reader.id, language)
        readers.tab_opened(tab)
        left = False
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(_tell(socket, tab))
                both.create_task(_hear(socket, tab, readers))
        except* WebSocketDisconnect as gone:
            left = all(isinstance(one, WebSocketDisconnect) and one.code in _LEFT for one in gone.exceptions)
        finally:
            readers.tab_closed(tab, left)

    return listen


async def _tell(socket: WebSocket, tab: Tab) -> None:
    """The news, until the other side is gone; how it went is heard by the one who listens."""
    with suppress(WebSocketDisconnect, RuntimeError):  # RuntimeError: Starlette's, after the end
        await tab.send_news(socket.send_json, chat_document)


async def _hear(socket: WebSocket, tab: Tab, readers: Readers) -> None:
    """`{"watch": ID}`; what is not understood is passed over. Raises WebSocketDisconnect at the end."""
    while True:
        text = await socket.receive_text()
        with suppress(ValueError):
            value = json.loads(text)
            wanted = value.get("watch") if isinstance(value, dict) else None
            if isinstance(wanted, str):
                await _show(tab, wanted, readers)


async def _show(tab: Tab, chat_id: str, readers: Readers) -> None:
    try:
        tab.watch(await readers[tab.reader].chat(chat_id) if chat_id else None)
    except ChatMissing:
        tab.lose(chat_id)
