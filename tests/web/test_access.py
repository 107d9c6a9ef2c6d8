"""What is kept out: bodies that are too large, guesses by the thousand."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest

from fitserve.clock import ManualClock
from fitserve.web.access import BodyLimit, Throttle, same_key
from fitserve.web.asgi import Receive, Scope, Send, reply

MIB = 2**20


class Upload:
    """One request with a body in pieces, and what was read of it."""

    def __init__(self, pieces: list[bytes], length: str | None) -> None:
        self.pieces, self.read = iter(pieces), 0
        self.sent: list[MutableMapping[str, Any]] = []
        headers = [(b"content-length", length.encode())] if length is not None else []
        app = BodyLimit(self.reads_all, limit_bytes=2 * MIB)
        asyncio.run(app({"type": "http", "headers": headers}, self.receive, self.send))

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    async def reads_all(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["more_body"]:
            pass
        await reply(send, 200, "taken")

    async def receive(self) -> MutableMapping[str, Any]:
        piece = next(self.pieces, b"")
        self.read += len(piece)
        return {"type": "http.request", "body": piece, "more_body": bool(piece)}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        self.sent.append(message)


def endless() -> Iterator[bytes]:
    while True:
        yield b"x" * MIB


def test_a_body_within_the_limit_is_taken() -> None:
    assert Upload([b"x" * MIB, b"x" * MIB], str(2 * MIB)).status == 200
    assert Upload([], None).status == 200


@pytest.mark.parametrize("length", [str(2 * MIB + 1), "9" * 40, "-1", "many", ""])
def test_one_that_says_it_is_too_large_is_not_read(length: str) -> None:
    upload = Upload([b"x" * MIB], length)
    assert (upload.status, upload.read) == (413, 0)
    assert b"2 MiB" in upload.sent[1]["body"]


def test_one_that_lies_is_cut() -> None:
    upload = Upload(endless(), "10")  # type: ignore[arg-type]  # an iterator is enough
    assert (upload.status, upload.read) == (413, 3 * MIB)


def test_a_framework_may_not_answer_for_us() -> None:
    async def framework(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            while True:
                await receive()
        except Exception:
            await reply(send, 500, "Internal Server Error")
            raise

    upload = Upload([], None)
    upload.pieces, upload.sent = endless(), []
    asyncio.run(BodyLimit(framework, 2 * MIB)({"type": "http", "headers": []}, upload.receive, upload.send))
    assert [message.get("status") for message in upload.sent] == [413, None]


@pytest.mark.parametrize(
    ("given", "right", "same"), [("a", "a", True), ("a", "b", False), ("", "", False), ("ключ", "ключ", True)]
)
def test_keys(given: str, right: str, same: bool) -> None:
    assert same_key(given, right) is same


def test_addresses_without_number_take_no_memory() -> None:
    clock = ManualClock()
    throttle = Throttle(clock, allowed=2)
    for number in range(5000):
        throttle.wrong(f"2001:db8::{number:x}")
    assert len(throttle._wrong) == 1024
    for _ in range(9):
        throttle.wrong("10.0.0.1")
    assert throttle.wait_s("10.0.0.1") == 60.0
    clock.sleep(59)
    assert throttle.wait_s("10.0.0.1") == 1.0
    clock.sleep(1)
    assert throttle.wait_s("10.0.0.1") == 0.0
