"""The door of the page, spoken to as a server does: scope in, messages out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import MutableMapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.clock import ManualClock
from fitserve.web.access import Throttle
from fitserve.web.asgi import Receive, Scope, Send
from fitserve.web.guard import Door, Guard, preferred_language

Sent = list[MutableMapping[str, Any]]


async def inside(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that lets one know that it was reached."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside"})


def visit(
    door: Door,
    body: bytes = b"",
    method: str = "GET",
    guard: Guard | None = None,
    client: str = "127.0.0.1",
    path: str = "/",
    **headers: str,
) -> tuple[int, str, dict[str, str]]:
    """(status, body, headers) of one request."""
    sent: Sent = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    headers = {"host": "127.0.0.1:7860", **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "headers": raw, "client": (client, 40000)}
    asyncio.run((guard or Guard(inside, door))(scope, receive, send))
    told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], sent[1]["body"].decode(), told


@pytest.mark.parametrize("host", ["127.0.0.1:7860", "localhost:7860", "[::1]:7860", "192.168.1.5", "LOCALHOST"])
def test_known_hosts_come_in(host: str) -> None:
    status, body, _ = visit(Door(), host=host)
    assert (status, body) == (200, "inside")


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example:7860", "", "127.0.0.1.nip.example", "[bad"])
def test_a_foreign_name_is_a_rebound_one(host: str) -> None:
    assert visit(Door(), host=host)[0] == 403


def test_a_name_that_was_allowed() -> None:
    assert visit(Door(frozenset({"gpu.lan"})), host="gpu.lan:7860")[0] == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [("http://127.0.0.1:7860", 200), ("http://evil.example", 403), ("http://127.0.0.1:9999", 403), ("null", 403)],
)
def test_other_pages_may_not_use_this_one(origin: str, status: int) -> None:
    assert visit(Door(), origin=origin)[0] == status


@pytest.mark.parametrize(
    ("door", "headers", "status", "said"),
    [
        (Door(), {"origin": "http://evil.example"}, 403, "来自 http://evil.example 的页面"),
        (Door(), {"sec_fetch_site": "cross-site", "sec_fetch_mode": "cors"}, 403, "其他页面不能"),
        (Door(), {"host": "evil.example"}, 403, "evil.example"),
        (Door(key="k"), {}, 401, "密钥"),
    ],
)
def test_the_door_of_the_api_speaks_json(door: Door, headers: dict[str, str], status: int, said: str) -> None:
    found, body, told = visit(door, path="/api/chats", accept_language="zh", **headers)
    assert (found, told["content-type"]) == (status, "application/json")
    assert said in json.loads(body)["error"]["message"]


def test_every_answer_forbids_the_outside() -> None:
    for door in (Door(), Door(key="k")):
        policy = visit(door)[2]["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert not [word for word in ("http", "unsafe", "*", "data:") if word in policy]


def test_a_key_opens_once_typed() -> None:
    door = Door(key="open sesame 芝麻")
    status, body, _ = visit(door, accept_language="zh-CN,zh;q=0.9")
    assert (status, "本页密钥" in body) == (401, True)
    typed = b"key=open+sesame+%E8%8A%9D%E9%BA%BB"
    status, _, headers = visit(door, typed, "POST")
    assert (status, headers["location"]) == (303, "/")
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=Strict" in headers["set-cookie"]
    cookie = headers["set-cookie"].split(";")[0]
    assert visit(door, cookie=cookie)[1] == "inside"
    assert visit(Door(key="another"), cookie=cookie)[0] == 401


@pytest.mark.parametrize("body", [b"key=wrong", b"", b"\xff\xfe", b"key=" + b"x" * 100_000])
def test_a_wrong_key_does_not(body: bytes) -> None:
    assert visit(Door(key="right"), body, "POST")[0] == 401


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=60))
def test_no_header_breaks_the_door(host: str, origin: str, cookie: str) -> None:
    clean = [text.encode("latin-1", "ignore").decode("latin-1") for text in (host, origin, cookie)]
    status, _, _ = visit(Door(key="k"), host=clean[0], origin=clean[1], cookie=clean[2])
    assert status in (401, 403)


def socket(door: Door, **headers: str) -> str:
    """What becomes of a WebSocket: the type of the first message that is sent to it."""
    sent: Sent = []

    async def open_socket(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "websocket.accept"})

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "websocket.connect"}

    raw = [(name.encode(), value.encode()) for name, value in {"host": "127.0.0.1:7860", **headers}.items()]
    asyncio.run(Guard(open_socket, door)({"type": "websocket", "headers": raw}, receive, send))
    return str(sent[0]["type"])


@pytest.mark.parametrize(
    ("headers", "end"),
    [
        ({"origin": "http://127.0.0.1:7860"}, "accept"),
        ({}, "accept"),  # no browser
        ({"origin": "http://127.0.0.1:9000"}, "close"),
        ({"origin": "http://evil.example"}, "close"),
        ({"origin": "null"}, "close"),
        ({"host": "evil.example", "origin": "http://evil.example"}, "close"),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "websocket"}, "close"),
    ],
)
def test_sockets_pass_the_same_door(headers: dict[str, str], end: str) -> None:
    assert socket(Door(), **headers) == f"websocket.{end}"


def test_a_socket_needs_the_key_too() -> None:
    door = Door(key="right")
    assert socket(door) == "websocket.close"
    assert socket(door, cookie=f"fitserve_page_key={door.token}") == "websocket.accept"
    assert socket(door, cookie="fitserve_page_key=right") == "websocket.close"


@pytest.mark.parametrize(
    ("site", "mode", "method", "status"),
    [
        ("same-origin", "cors", "POST", 200),
        ("none", "navigate", "GET", 200),
        ("cross-site", "navigate", "GET", 200),  # a link that leads here
        ("cross-site", "navigate", "POST", 403),  # a form on another page
        ("same-site", "cors", "GET", 403),  # another port of this machine
        ("cross-site", "no-cors", "GET", 403),  # <img src="http://127.0.0.1:7860/…">
    ],
)
def test_the_browser_says_whose_request_it_is(site: str, mode: str, method: str, status: int) -> None:
    assert visit(Door(), method=method, sec_fetch_site=site, sec_fetch_mode=mode)[0] == status


def test_who_guesses_has_to_wait() -> None:
    clock = ManualClock()
    door = Door(key="right")
    guard = Guard(inside, door, Throttle(clock, allowed=3, window_s=60.0))

    def guess(key: str, address: str = "10.0.0.1") -> int:
        return visit(door, f"key={key}".encode(), "POST", guard=guard, client=address)[0]

    assert [guess("wrong") for _ in range(3)] == [401, 401, 401]
    assert guess("right") == 429
    assert guess("right", "10.0.0.2") == 303
    assert visit(door, guard=guard, client="10.0.0.1", cookie=f"fitserve_page_key={door.token}")[0] == 200
    clock.sleep(61)
    assert guess("right") == 303


def test_the_cookie_is_not_the_key() -> None:
    door = Door(key="open")
    assert "open" not in door.token
    assert door.token != Door(key="open").token
    assert "open" not in repr(door.token)


@pytest.mark.parametrize(
    ("accept", "language"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-GB,zh;q=0.5", "en"),
        ("fr,zh;q=0.5", "zh"),
        ("fr", "en"),
        ("", "en"),
    ],
)
def test_the_browsers_language(accept: str, language: str) -> None:
    assert preferred_language(accept) == language
