"""The whole page's server under those who mean no good: other pages, endless bodies, nonsense, no key."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from fitserve.chat.endpoint import Endpoint
from fitserve.web.asgi import App
from fitserve.web.guard import Door
from fitserve.web.server import Backend, Place, build

MIB = 2**20
READER = "fitserve_reader=" + "0" * 32
FOREIGN = (
    {"origin": "http://evil.example"},
    {"origin": "http://127.0.0.1:9000"},
    {"origin": "null"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
    {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
    {"host": "evil.example:7860"},
)


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def page(door: Door | None = None) -> App:
    return build(Backend(Endpoint("http://127.0.0.1:9", "qwen")), Place(door=door or Door()))


class Asked:
    """One request, its body in pieces, and how much of it was read."""

    def __init__(self, app: App, method: str, path: str, body: Iterable[bytes] = (), **headers: str) -> None:
        self.read, self._body = 0, iter(body)
        self._sent: list[MutableMapping[str, Any]] = []
        raw = {"host": "127.0.0.1:7860", "accept-language": "en", "cookie": READER, **headers}
        path, _, query = path.partition("?")
        scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "root_path": ""}
        scope |= {"headers": [(name.encode(), value.encode()) for name, value in raw.items()], "http_version": "1.1"}
        scope |= {"scheme": "http", "server": ("127.0.0.1", 7860), "client": ("127.0.0.1", 40000)}
        asyncio.run(app(scope, self._receive, self._send))

    @property
    def status(self) -> int:
        return int(self._sent[0]["status"])

    @property
    def text(self) -> str:
        return b"".join(message.get("body", b"") for message in self._sent[1:]).decode()

    async def _receive(self) -> MutableMapping[str, Any]:
        piece = next(self._body, b"")
        self.read += len(piece)
        return {"type": "http.request", "body": piece, "more_body": bool(piece)}

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        self._sent.append(message)


def endless() -> Iterable[bytes]:
    while True:
        yield b"x" * MIB


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
@pytest.mark.parametrize(("method", "path"), [("POST", "/api/chats"), ("DELETE", "/api/chats"), ("GET", "/api/chats")])
def test_another_page_can_neither_ask_nor_read_nor_delete(method: str, path: str, headers: dict[str, str]) -> None:
    asked = Asked(page(), method, path, [b"{}"], **headers)
    assert (asked.status, asked.read) == (403, 0)


def test_a_picture_that_says_it_is_too_large_is_not_read() -> None:
    length = {"content-length": str(65 * MIB)}
    asked = Asked(page(), "POST", "/api/pictures?name=a.png", endless(), **length)
    assert (asked.status, asked.read) == (413, 0)
    assert json.loads(asked.text)["error"]["code"] == "body_too_large"


def test_a_picture_that_lies_about_it_is_cut() -> None:
    asked = Asked(page(), "POST", "/api/pictures?name=a.png", endless(), **{"content-length": "10"})
    assert asked.status == 413
    assert asked.read == 65 * MIB


def test_a_command_is_small() -> None:
    asked = Asked(page(), "POST", "/api/chats/x/messages", endless())
    assert asked.status in (404, 413)
    assert asked.read <= 5 * MIB


@pytest.mark.parametrize(
    "body", [b"[1]", b"{", b"null", b"\xff", b'{"text": 3}', b'{"text": "\\ud800", "pictures": "x"}']
)
def test_nonsense_is_told_in_a_sentence(body: bytes) -> None:
    app = page()
    chat = json.loads(Asked(app, "POST", "/api/chats").text)["id"]
    asked = Asked(app, "POST", f"/api/chats/{chat}/messages", [body])
    assert asked.status in (404, 422)
    assert json.loads(asked.text)["error"]["message"]
    assert "Traceback" not in asked.text


@pytest.mark.parametrize(
    "path", ["/", "/en/", "/static/main.js", "/api/chats", "/api/status", "/api/owner", "/nothing"]
)
def test_a_page_with_a_key_shows_nothing_without_it(path: str) -> None:
    asked = Asked(page(Door(key="open sesame")), "GET", path)
    assert asked.status == 401
    assert ("<form" in asked.text) != path.startswith("/api/")
    assert ("page_key" in asked.text) == path.startswith("/api/")


def socket(app: App, **headers: str) -> str:
    """What the door does with a tab's socket."""
    sent: list[str] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "websocket.connect"} if not sent else {"type": "websocket.disconnect", "code": 1000}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message["type"])

    raw = {"host": "127.0.0.1:7860", "cookie": READER, **headers}
    scope = {"type": "websocket", "path": "/api/events", "query_string": b"tab=1", "root_path": "", "scheme": "ws"}
    scope |= {"headers": [(name.encode(), value.encode()) for name, value in raw.items()], "subprotocols": []}
    scope |= {"server": ("127.0.0.1", 7860), "client": ("127.0.0.1", 40000)}
    run: Callable[..., Any] = asyncio.run
    run(app(scope, receive, send))
    return sent[0]


def test_another_page_hears_no_news() -> None:
    assert socket(page(), origin="http://127.0.0.1:7860") == "websocket.accept"
    assert [socket(page(), **headers) for headers in FOREIGN] == ["websocket.close"] * len(FOREIGN)
