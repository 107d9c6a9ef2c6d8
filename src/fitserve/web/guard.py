"""The page's door: who may come in (Host, Origin, key), and what a page may load (nothing from outside)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import html
import ipaddress
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from fitserve.errors import FitserveError
from fitserve.text import tr
from fitserve.web.access import Throttle, address, is_foreign, same_key
from fitserve.web.asgi import HTML, JSON, TEXT, App, Message, Receive, Scope, Send, read_body, refuse_socket, reply
from fitserve.web.refused import told

COOKIE = "fitserve_page_key"
_FORM_STYLE = (
    "body{font:16px system-ui;margin:4rem auto;max-width:24rem;padding:0 1rem;color-scheme:light dark}"
    "h1{font-size:1.2rem}"
)
_FORM_DIGEST = base64.b64encode(hashlib.sha256(_FORM_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' 'sha256-{_FORM_DIGEST}'; img-src 'self' blob:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # no-referrer would make our own form's Origin "null",
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


@dataclass(frozen=True)
class Door:
    """`hosts`: names this page is called by; addresses are always fine, a name that merely points here is not.

    `secret` makes the cookies: whoever does not have it can't guess one, however short the key is.
    """

    hosts: frozenset[str] = frozenset({"localhost"})
    key: str = ""
    secret: str = field(default_factory=secrets.token_urlsafe, repr=False)

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

    @property
    def token(self) -> str:
        """What a browser keeps once the right key was typed in it; not the key itself."""
        return hmac.new(self.secret.encode(), self.key.encode(), "sha256").hexdigest()

    def lets_in(self, headers: Mapping[bytes, str]) -> bool:
        """Whether no key is needed, or this browser has typed it."""
        return not self.key or same_key(_cookie(headers), self.token)


class Guard:
    """ASGI: refuses at the door, and puts the headers on every answer."""

    def __init__(self, app: App, door: Door, throttle: Throttle | None = None) -> None:
        self._app, self._door, self._throttle = app, door, throttle or Throttle()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refusal(scope.get("method", "SOCKET"), headers)
        asks_api = scope.get("path", "").startswith("/api/")
        if scope["type"] == "websocket":
            admitted = not refused and self._door.lets_in(headers)
            await (self._app(scope, receive, send) if admitted else refuse_socket(send))
            return
        send = _with_headers(send)
        if refused:
            await (reply(send, 403, _error("door", refused), JSON) if asks_api else reply(send, 403, refused, TEXT))
        elif self._door.lets_in(headers):
            await self._app(scope, receive, send)
        elif asks_api:
            await reply(send, 401, _error("page_key", tr("web.key_needed", _language(headers))), JSON)
        else:
            await self._ask_key(scope, receive, send, _language(headers))

    def _refusal(self, method: str, headers: dict[bytes, str]) -> str:
        host, language = headers.get(b"host", ""), _language(headers)
        if not self._door.knows(host):
            return tr("web.unknown_host", language, host=host)
        origin = headers.get(b"origin", "")
        foreign = bool(origin) and origin.partition("://")[2] != host
        if foreign or is_foreign(method, headers):
            return tr("web.foreign_origin", language, origin=origin) if origin else tr("web.foreign_page", language)
        return ""

    async def _ask_key(self, scope: Scope, receive: Receive, send: Send, language: str) -> None:
        """A form; the right key becomes a cookie for this browser only. Who guesses has to wait."""
        who = address(scope)
        wait_s = self._throttle.wait_s(who)
        if wait_s:
            said = tr("web.key_wait", language, seconds=f"{wait_s:.0f}")
            await reply(send, 429, _form(language, said), HTML, (b"retry-after", f"{wait_s:.0f}".encode()))
            return
        typed = parse_qs((await read_body(receive)).decode("utf-8", "replace")).get("key", [""])[0]
        if scope["method"] == "POST" and same_key(typed, self._door.key):
            cookie = f"{COOKIE}={self._door.token}; Path=/; HttpOnly; SameSite=Strict"
            await reply(send, 303, "", (b"location", b"/"), (b"set-cookie", cookie.encode()))
            return
        if typed:
            self._throttle.wrong(who)
        await reply(send, 401, _form(language, tr("web.key_wrong", language) if typed else ""), HTML)


def preferred_language(accept: str) -> str:
    """`zh` or `en`, whichever stands first in an Accept-Language header."""
    for part in accept.lower().split(","):
        name = part.split(";")[0].strip()
        if name.startswith(("zh", "en")):
            return name[:2]
    return "en"


def _error(code: str, message: str) -> str:
    """The document of every failure under `/api/`."""
    return json.dumps({"error": told(FitserveError(message, code=code), "")}, ensure_ascii=False)


def _language(headers: dict[bytes, str]) -> str:
    return preferred_language(headers.get(b"accept-language", ""))


def _cookie(headers: Mapping[bytes, str]) -> str:
    try:
        morsel = SimpleCookie(headers.get(b"cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


def _form(language: str, said: str) -> str:
    title, button = html.escape(tr("web.key_title", language)), html.escape(tr("web.key_button", language))
    alert = f"<p role=alert>{html.escape(said)}</p>" if said else ""
    return (
        f"<!doctype html><html lang={language}><meta name=viewport content='width=device-width'><title>fitserve</title>"
        f"<style>{_FORM_STYLE}</style><body><main><h1>fitserve</h1><form method=post action='/'>"
        f"<label>{title}<br><input name=key type=password autofocus autocomplete=current-password></label> "
        f"<button>{button}</button>{alert}</form></main>"
    )


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *_HEADERS]
        await send(message)

    return sending
