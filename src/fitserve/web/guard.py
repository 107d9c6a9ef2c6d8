"""The page's door: who may come in (Host, Origin, key), and what a page may load (nothing from outside)."""

from __future__ import annotations

import hmac
import html
import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fitserve.text import tr

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "fitserve_page_key"
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; media-src 'self' blob:; worker-src 'self' blob:; "
    "connect-src 'self'; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # no-referrer would make our own form's Origin "null",
)


@dataclass(frozen=True)
class Door:
    """`hosts`: names this page is called by; addresses are always fine, a name that merely points here is not."""

    hosts: frozenset[str] = frozenset({"localhost"})
    key: str = ""

    def knows(self, host: str) -> bool:
        """Against DNS rebinding: a foreign name in Host means a foreign page made the browser come here."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self.hosts
        return True

    def opens(self, key: str) -> bool:
        """Whether this is the key (or none is needed)."""
        return not self.key or hmac.compare_digest(key.encode(), self.key.encode())


class Guard:
    """ASGI: refuses at the door, and puts the headers on every answer."""

    def __init__(self, app: App, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await (self._app(scope, receive, send) if scope["type"] == "lifespan" else _close(send))
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refusal(headers)
        if refused:
            await _text(send, 403, refused)
        elif self._door.opens(_cookie(headers)):
            await self._app(scope, receive, _with_headers(send))
        else:
            await self._ask_key(scope, receive, send, _language(headers))

    def _refusal(self, headers: dict[bytes, str]) -> str:
        host = headers.get(b"host", "")
        if not self._door.knows(host):
            return tr("web.unknown_host", host=host)
        origin = headers.get(b"origin", "")
        return tr("web.foreign_origin", origin=origin) if origin and origin.partition("://")[2] != host else ""

    async def _ask_key(self, scope: Scope, receive: Receive, send: Send, language: str) -> None:
        """A form; the right key becomes a cookie for this browser only."""
        typed = parse_qs((await _body(receive)).decode("utf-8", "replace")).get("key", [""])[0]
        if scope["method"] == "POST" and self._door.opens(typed):
            cookie = f"{COOKIE}={typed.encode().hex()}; Path=/; HttpOnly; SameSite=Strict"
            await _reply(send, 303, b"", [(b"location", b"/"), (b"set-cookie", cookie.encode())])
            return
        await _reply(
            send, 401, _form(language, wrong=bool(typed)).encode(), [(b"content-type", b"text/html; charset=utf-8")]
        )


def preferred_language(accept: str) -> str:
    """`zh` or `en`, whichever stands first in an Accept-Language header."""
    for part in accept.lower().split(","):
        name = part.split(";")[0].strip()
        if name.startswith(("zh", "en")):
            return name[:2]
    return "en"


def _language(headers: dict[bytes, str]) -> str:
    return preferred_language(headers.get(b"accept-language", ""))


def _cookie(headers: dict[bytes, str]) -> str:
    try:
        morsel = SimpleCookie(headers.get(b"cookie", "")).get(COOKIE)
        return bytes.fromhex(morsel.value).decode() if morsel else ""
    except (CookieError, ValueError):
        return ""


def _form(language: str, wrong: bool) -> str:
    title, button = html.escape(tr("web.key_title", language)), html.escape(tr("web.key_button", language))
    said = f"<p role=alert>{html.escape(tr('web.key_wrong', language))}</p>" if wrong else ""
    return (
        f"<!doctype html><html lang={language}><meta name=viewport content='width=device-width'><title>fitserve</title>"
        f"<body style='font:16px system-ui;margin:4rem auto;max-width:24rem'><form method=post action='/'>"
        f"<label>{title}<br><input name=key type=password autofocus autocomplete=current-password></label> "
        f"<button>{button}</button>{said}</form>"
    )


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *_HEADERS]
        await send(message)

    return sending


async def _body(receive: Receive, limit: int = 4096) -> bytes:
    data, more = b"", True
    while more and len(data) <= limit:
        message = await receive()
        data += message.get("body", b"")
        more = message.get("more_body", False)
    return data[:limit]


async def _text(send: Send, status: int, text: str) -> None:
    await _reply(send, status, text.encode(), [(b"content-type", b"text/plain; charset=utf-8")])


async def _reply(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    headers = [*headers, *_HEADERS, (b"content-length", str(len(body)).encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _close(send: Send) -> None:
    await send({"type": "websocket.close", "code": 1008})
