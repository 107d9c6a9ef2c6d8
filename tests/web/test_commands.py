"""The page's commands over HTTP, before an endpoint that looks at its pictures; no port is opened for the page."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from PIL import Image
from tests.browser.stub import COLOURS, Seen

from fitserve.chat.endpoint import Endpoint
from fitserve.web.server import Backend, Place, build

Client = httpx2.AsyncClient
Case = Callable[[Client], Awaitable[None]]


@pytest.fixture
def run(stub: tuple[str, Seen], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Case], None]:
    """Runs a case as one reader in a fresh home."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    app = build(Backend(Endpoint(stub[0])), Place())
    transport = httpx2.ASGITransport(app)

    @asynccontextmanager
    async def reader() -> AsyncIterator[Client]:
        async with Client(transport=transport, base_url="http://localhost") as client:
            assert (await client.get("/en/")).status_code == 200  # sets the cookie
            yield client

    async def whole(case: Case) -> None:
        async with reader() as client:
            await case(client)

    return lambda case: asyncio.run(whole(case))


def png(colour: str = "red", size: tuple[int, int] = (32, 16)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, COLOURS[colour]).save(buffer, "PNG")
    return buffer.getvalue()


async def chat_of(client: Client) -> str:
    made = await client.post("/api/chats")
    assert made.status_code == 201
    return str(made.json()["id"])


async def answered(client: Client, chat_id: str) -> dict[str, Any]:
    """The chat, once nothing is under way in it."""
    while (chat := (await client.get(f"/api/chats/{chat_id}")).json())["answering"]:
        await asyncio.sleep(0.01)
    return chat


async def ask(client: Client, chat_id: str, text: str, **more: object) -> dict[str, Any]:
    sent = await client.post(f"/api/chats/{chat_id}/messages", json={"text": text, **more})
    assert sent.status_code == 202, sent.text
    return await answered(client, chat_id)


def test_a_question_with_a_picture(run: Callable[[Case], None]) -> None:
    async def case(client: Client) -> None:
        prepared = await client.post("/api/pictures?name=a.png", content=png())
        picture = prepared.json()
        assert (prepared.status_code, picture["width"], picture["name"]) == (201, 32, "a.png")
        shown = await client.get(picture["url"])
        assert shown.headers["content-type"] == "image/png"
        chat_id = await chat_of(client)
        chat = await ask(client, chat_id, "What?", pictures=[picture["id"]])
        (turn,) = chat["turns"]
        assert turn["answer"].strip() == "I see red 32x16 (turn 1)."
        assert "first token" in turn["figures"]
        assert (await client.get(turn["pictures"][0]["url"])).content == shown.content
        listed = (await client.get("/api/chats")).json()["chats"]
        assert [(one["id"], one["name"], one["turns"]) for one in listed] == [(chat_id, "What?", 1)]

    run(case)


def test_again_edit_undo_and_clear(run: Callable[[Case], None]) -> None:
    async def case(client: Client) -> None:
        one = await chat_of(client)
        path = f"/api/chats/{one}"
        await ask(client, one, "one")
        await ask(client, one, "two")
        assert (await client.post(f"{path}/again")).status_code == 202
        assert len((await answered(client, one))["turns"]) == 2
        await client.post(f"{path}/edit", json={"turn": 0, "text": "uno"})
        assert [turn["question"] for turn in (await answered(client, one))["turns"]] == ["uno"]
        assert [turn["question"] for turn in (await client.post(f"{path}/undo")).json()["turns"]] == ["one", "two"]
        cleared = (await client.post(f"{path}/since", json={"turn": 99})).json()
        assert [turn["sent"] for turn in cleared["turns"]] == [False, False]
        assert (await ask(client, one, "hello"))["turns"][-1]["answer"].strip().endswith("(turn 1).")

    run(case)


@pytest.mark.parametrize(("language", "mark"), [("en", "Broken off"), ("zh", "回答中途中断")])
def test_a_broken_answer_stays_marked(run: Callable[[Case], None], language: str, mark: str) -> None:
    async def case(client: Client) -> None:
        client.headers["accept-language"] = language
        chat_id = await chat_of(client)
        await ask(client, chat_id, "break")
        turns = (await ask(client, chat_id, "hello"))["turns"]
        assert [(turn["ended"], turn["unfinished"][: len(mark)]) for turn in turns] == [("broken", mark), ("stop", "")]
        text = (await client.get(f"/api/chats/{chat_id}/export?as=markdown")).text
        assert text.count(f"*{turns[0]['unfinished']}*") == 1

    run(case)


def test_one_answer_at_a_time(run: Callable[[Case], None]) -> None:
    async def case(client: Client) -> None:
        chat_id = await chat_of(client)
        assert (await client.post(f"/api/chats/{chat_id}/messages", json={"text": "hold"})).status_code == 202
        second = await client.post(f"/api/chats/{chat_id}/messages", json={"text": "me too"})
        assert (second.status_code, second.json()["error"]["code"]) == (409, "still_answering")
        await client.post(f"/api/chats/{chat_id}/stop")

    run(case)


def test_failures_are_told_in_the_readers_language(run: Callable[[Case], None]) -> None:
    async def case(client: Client) -> None:
        gone = await client.get("/api/chats/abcdefab", headers={"accept-language": "zh"})
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "chat_gone")
        assert "对话" in gone.json()["error"]["message"]
        chat = await ask(client, await chat_of(client), "too long")
        assert chat["problem"]["code"] == "endpoint_too_long"
        assert "maximum context length" in chat["problem"]["evidence"]

    run(case)


@pytest.mark.parametrize("arrived", [True, False])
def test_stop(run: Callable[[Case], None], stub: tuple[str, Seen], arrived: bool) -> None:
    async def case(client: Client) -> None:
        chat_id = await chat_of(client)
        await client.post(f"/api/chats/{chat_id}/messages", json={"text": "hold"})
        while arrived and not stub[1].active:
            await asyncio.sleep(0.01)
        stopped = (await client.post(f"/api/chats/{chat_id}/stop")).json()
        assert (stopped["answering"], stopped["notices"]) == (False, ["Stopped."])

    run(case)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "messages", b"not json", 422),
        ("POST", "messages", b"[]", 422),
        ("POST", "messages", b'{"text": 1}', 422),
        ("POST", "messages", b'{"text": " "}', 422),
        ("POST", "messages", b'{"text": "x", "pictures": ["nobody"]}', 422),
        ("POST", "messages", b'{"text": "x", "pictures": "ab"}', 422),
        ("POST", "edit", b'{"turn": 0, "text": "x"}', 422),
        ("POST", "edit", b'{"turn": true, "text": "x"}', 422),
        ("POST", "again", b"", 422),
        ("GET", "export?as=markdown&language=../../x", b"", 422),
        ("GET", "export?as=exe", b"", 422),
        ("GET", "pictures/../../../../etc/passwd", b"", 404),
        ("PUT", "messages", b"{}", 405),
    ],
)
def test_what_makes_no_sense_is_refused(
    run: Callable[[Case], None], method: str, path: str, body: bytes, status: int
) -> None:
    async def case(client: Client) -> None:
        chat_id = await chat_of(client)
        refused = await client.request(method, f"/api/chats/{chat_id}/{path}", content=body)
        assert refused.status_code == status, refused.text
        if refused.url.path.startswith("/api/"):
            assert set(refused.json()["error"]) == {"code", "message", "evidence", "next"}

    run(case)


def test_a_body_above_the_limit_is_not_read(run: Callable[[Case], None]) -> None:
    async def case(client: Client) -> None:
        chat_id = await chat_of(client)
        refused = await client.post(f"/api/chats/{chat_id}/messages", content=b" " * (4 * 2**20 + 1))
        assert refused.status_code == 413
        assert refused.json()["error"]["next"] == "send something smaller: at most 4.0 MiB"

    run(case)


def test_what_is_no_picture_is_refused_with_its_reason(run: Callable[[Case], None]) -> None:
    async def case(client: Client) -> None:
        refused = await client.post("/api/pictures?name=paper.png", content=b"%PDF-1.7")
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "picture_is_pdf")
        assert "paper.png" in refused.json()["error"]["message"]

    run(case)


def test_another_browser_sees_nothing_of_it(run: Callable[[Case], None]) -> None:
    async def case(client: Client) -> None:
        chat_id = await chat_of(client)
        picture = (await client.post("/api/pictures?name=a.png", content=png())).json()
        client.cookies.clear()
        await client.get("/en/")
        assert (await client.get("/api/chats")).json()["chats"] == []
        assert (await client.get(f"/api/chats/{chat_id}")).status_code == 404
        assert (await client.delete(f"/api/chats/{chat_id}")).status_code == 404
        assert (await client.get(picture["url"])).status_code == 422

    run(case)


def test_history_is_switched_off_and_deleted(run: Callable[[Case], None], tmp_path: Path) -> None:
    async def case(client: Client) -> None:
        kept = await chat_of(client)
        chosen = await client.put("/api/settings", json={"history": False, "new_picture": "keep", "more": 1})
        assert chosen.json() == {"history": False, "new_picture": "keep"}
        unkept = await chat_of(client)
        assert (await ask(client, unkept, "secret"))["turns"]
        on_disk = b"".join(path.read_bytes() for path in tmp_path.rglob("*.jsonl"))
        assert b"secret" not in on_disk
        assert {one["id"] for one in (await client.get("/api/chats")).json()["chats"]} == {kept, unkept}
        assert (await client.delete("/api/chats")).status_code == 204
        assert (await client.get("/api/chats")).json()["chats"] == []
        assert list(tmp_path.rglob("*.jsonl")) == []

    run(case)


def test_a_chat_survives_the_servers_restart(run: Callable[[Case], None]) -> None:
    found: list[str] = []

    async def before(client: Client) -> None:
        chat_id = await chat_of(client)
        await ask(client, chat_id, "hello")
        await client.patch(f"/api/chats/{chat_id}", json={"title": "A name"})
        found.extend([chat_id, client.cookies["fitserve_reader"]])

    run(before)

    async def after(client: Client) -> None:
        client.cookies.clear()
        client.cookies.set("fitserve_reader", found[1])
        chat = (await client.get(f"/api/chats/{found[0]}")).json()
        assert (chat["name"], chat["turns"][0]["answer"].strip()) == ("A name", "I see no picture (turn 1).")

    run(after)


def test_the_draft_is_weighed(run: Callable[[Case], None]) -> None:
    async def case(client: Client) -> None:
        chat_id = await chat_of(client)
        meter = (await client.post(f"/api/chats/{chat_id}/meter", json={"text": "word " * 100})).json()
        assert (meter["window"], [part["kind"] for part in meter["parts"]]) == (4096, ["draft", "reserve"])

    run(case)


def test_the_page_and_its_files(run: Callable[[Case], None]) -> None:
    async def case(client: Client) -> None:
        page = await client.get("/zh/")
        assert 'lang="zh-CN"' in page.text
        assert "script-src 'self';" in page.headers["content-security-policy"]
        assert (await client.get("/", headers={"accept-language": "zh-CN"})).headers["location"] == "/zh/"
        first = await client.get("/static/main.js")
        assert (first.headers["content-type"], first.headers["content-encoding"]) == (
            "text/javascript; charset=utf-8",
            "gzip",
        )
        again = await client.get("/static/main.js", headers={"if-none-match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        for path in ("/static/nothing.js", "/static/../server.py", "/static/%2e%2e/server.py", "/static/"):
            assert (await client.get(path)).status_code == 404

    run(case)


def test_who_has_not_opened_the_page_is_told_to(run: Callable[[Case], None]) -> None:
    async def case(client: Client) -> None:
        client.cookies.clear()
        refused = await client.post("/api/chats")
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "no_reader")

    run(case)
