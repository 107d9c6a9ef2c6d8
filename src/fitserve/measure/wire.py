"""One HTTP request on one connection, made for measuring: what comes is stamped at once and read later.

A client library hands pieces on through several layers before anyone can look at the clock, and its parsing of one
stream delays the stamps of the others. Here the event loop's callback takes the time and keeps the bytes; `replies.py`
makes events of them when nothing else is to be done.

The connection is made before the clock starts, as a pooled one would be. Proxies are not used: a measurement through
one would be the proxy's.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_LAST_CHUNK = b"\r\n0\r\n\r\n"
_CONNECT_S = 10.0


@dataclass(frozen=True)
class Address:
    """Where requests go: `prefix` is what stands before `/v1`."""

    host: str
    port: int
    secure: bool
    prefix: str
    api_key: str = field(default="", repr=False)

    @classmethod
    def of(cls, base_url: str, api_key: str = "") -> Address:
        """From a base URL that `fitserve.chat.endpoint.parse_base_url` has checked."""
        parts = urlsplit(base_url)
        secure = parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
        return cls(parts.hostname or "", port, secure, parts.path.rstrip("/"), api_key)

    def head(self, method: str, path: str, length: int) -> bytes:
        """The request's first lines. The key stays in here."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        lines = [
            f"{method} {self.prefix}{path} HTTP/1.1",
            f"Host: {host}:{self.port}",
            "Connection: close",
            "Accept-Encoding: identity",
            "User-Agent: fitserve",
        ]
        if length:
            lines += ["Content-Type: application/json", f"Content-Length: {length}"]
        if self.api_key:
            lines.append(f"Authorization: Bearer {self.api_key}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


@dataclass(frozen=True)
class Exchange:
    """What came back, piece by piece, with the loop's time of each. Seconds are of the loop's clock."""

    sent_s: float
    connect_s: float  # how long the connection took, before the clock
    pieces: tuple[tuple[float, bytes], ...]
    ended_s: float


class Wire(asyncio.Protocol):
    """Stamps and keeps; knows just enough HTTP to see the end of a response."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.pieces: list[tuple[float, bytes]] = []
        self.ended: asyncio.Future[None] = loop.create_future()
        self._head = b""
        self._wanted: int | None = None  # bytes of the body still to come; None: until the last chunk or the close
        self._tail = b""
        self._in_body = False

    def data_received(self, data: bytes) -> None:
        """The hot path: time first."""
        self.pieces.append((self._loop.time(), data))
        if not self._in_body:
            data = self._read_head(data)
            if not self._in_body:
                return
        if self._wanted is not None:
            self._wanted -= len(data)
            if self._wanted <= 0:
                self._end()
        else:
            self._tail = (self._tail + data)[-len(_LAST_CHUNK) :]
            if self._tail == _LAST_CHUNK:
                self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        """The other side closed: the end of a body without a length, or a break, which the reader of it will see."""
        if not self.ended.done():
            if exc is None:
                self.ended.set_result(None)
            else:
                self.ended.set_exception(exc)

    def _read_head(self, data: bytes) -> bytes:
        self._head += data
        head, found, body = self._head.partition(b"\r\n\r\n")
        if not found:
            return b""
        self._in_body = True
        self._tail = b"\r\n"  # a body may be its last chunk only
        for line in head.lower().split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name == b"content-length" and value.strip().isdigit():
                self._wanted = int(value)
        return body

    def _end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


async def exchange(address: Address, method: str, path: str, body: tuple[bytes, ...], limit_s: float) -> Exchange:
    """Send and receive to the end. Raises OSError where there is no connection, TimeoutError past the limit."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    context = ssl.create_default_context() if address.secure else None
    async with asyncio.timeout(_CONNECT_S):
        transport, wire = await loop.create_connection(lambda: Wire(loop), address.host, address.port, ssl=context)
    head = address.head(method, path, sum(map(len, body)))
    sent = loop.time()
    try:
        transport.writelines([head, *body])
        async with asyncio.timeout(limit_s):
            await wire.ended
    finally:
        transport.abort()
        if wire.ended.done() and not wire.ended.cancelled():
            wire.ended.exception()
    return Exchange(sent, sent - begun, tuple(wire.pieces), loop.time())
