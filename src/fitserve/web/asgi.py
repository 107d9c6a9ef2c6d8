"""ASGI's types, and the few words of it that the door speaks before any framework is reached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

TEXT = (b"content-type", b"text/plain; charset=utf-8")
JSON = (b"content-type", b"application/json")
HTML = (b"content-type", b"text/html; charset=utf-8")


async def reply(send: Send, status: int, text: str, *headers: tuple[bytes, bytes]) -> None:
    """A whole answer, never kept by a cache."""
    body = text.encode()
    more = [(b"content-length", str(len(body)).encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *more]})
    await send({"type": "http.response.body", "body": body})


async def read_body(receive: Receive, limit: int = 4096) -> bytes:
    """At most so many bytes of what is sent."""
    data, more = b"", True
    while more and len(data) <= limit:
        message = await receive()
        data += message.get("body", b"")
        more = message.get("more_body", False)
    return data[:limit]


async def refuse_socket(send: Send) -> None:
    """Answered before it is opened: the browser sees a 403."""
    await send({"type": "websocket.close", "code": 1008})
