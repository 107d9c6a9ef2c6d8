"""What is kept out before anybody reads it: wrong keys by the dozen, bodies that are too large, other pages."""

from __future__ import annotations

import hmac
from collections import OrderedDict, deque
from collections.abc import Mapping

from fitserve.clock import Clock, SystemClock
from fitserve.text import tr
from fitserve.web.asgi import TEXT, App, Message, Receive, Scope, Send, reply

_ADDRESSES = 1024  # remembered; the one that was quiet for longest is forgotten first


def same_key(given: str, right: str) -> bool:
    """Compared in a time that does not tell how much of it is right. No key is never the right one."""
    return bool(right) and hmac.compare_digest(given.encode(), right.encode())


class Throttle:
    """Wrong keys from an address: so many in a window, then it waits until the oldest of them has passed."""

    def __init__(self, clock: Clock | None = None, allowed: int = 5, window_s: float = 60.0) -> None:
        self._clock, self._allowed, self._window_s = clock or SystemClock(), allowed, window_s
        self._wrong: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_s(self, address: str) -> float:
        """Seconds that this address has to wait; 0 where it may try."""
        tries = self._wrong.get(address)
        if tries is None or len(tries) < self._allowed:
            return 0.0
        return max(0.0, tries[0] + self._window_s - self._clock.monotonic())

    def wrong(self, address: str) -> None:
        """A wrong key came from there."""
        tries = self._wrong.setdefault(address, deque(maxlen=self._allowed))
        tries.append(self._clock.monotonic())
        self._wrong.move_to_end(address)
        while len(self._wrong) > _ADDRESSES:
            self._wrong.popitem(last=False)


def is_foreign(method: str, headers: Mapping[bytes, str]) -> bool:
    """Whether the browser says that another page is behind this request. To follow a link to us is allowed.

    Another port of the same machine is another page: cookies do not tell ports apart, so this has to.
    """
    site = headers.get(b"sec-fetch-site", "none")
    follows_link = method == "GET" and headers.get(b"sec-fetch-mode") == "navigate"
    return site not in ("none", "same-origin") and not follows_link


def address(scope: Scope) -> str:
    """Who asks, as far as the connection tells."""
    client = scope.get("client")
    return str(client[0]) if client else ""


class BodyLimit:
    """ASGI: refuses a body that says it is too large before a byte of it is read, and one that lies about it after."""

    def __init__(self, app: App, limit_bytes: int) -> None:
        self._app, self._limit = app, limit_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        said = dict(scope["headers"]).get(b"content-length", b"0")
        if not said.isdigit() or int(said) > self._limit:
            await self._refuse(send)
            return
        await self._counted(scope, receive, send)

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        taken, begun = 0, False

        async def receiving() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self._limit:
                raise _TooLarge
            return message

        async def sending(message: Message) -> None:
            nonlocal begun
            if taken <= self._limit:  # else it is the framework's word on our exception
                begun = True
                await send(message)

        try:
            await self._app(scope, receiving, sending)
        except _TooLarge:
            if not begun:
                await self._refuse(send)

    async def _refuse(self, send: Send) -> None:
        text = tr("owner.body_too_large", limit=self._limit // 2**20)
        await reply(send, 413, text, TEXT, (b"connection", b"close"))


class _TooLarge(Exception):
    pass
