"""Commands that meet in one chat: no question is lost, and every answer ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest
from tests.browser.stub import Seen

from fitserve.chat.conversation import OnNewPicture
from fitserve.chat.desk import Desk, Step
from fitserve.chat.disk_shelf import DiskShelf
from fitserve.chat.endpoint import Endpoint
from fitserve.chat.images import Picture
from fitserve.chat.records import Asked, Record
from fitserve.chat.said import HistoryUnwritable, said
from fitserve.web.open_chat import OpenChat
from fitserve.web.refused import Conflict

Case = Callable[[OpenChat], Awaitable[None]]


class FullDisk(DiskShelf):
    """It takes the chat, and no question."""

    def append(self, chat_id: str, record: Record, pictures: tuple[Picture, ...] = ()) -> None:
        if isinstance(record, Asked):
            raise HistoryUnwritable(said("chat.history_unwritable"), code="history_unwritable")
        super().append(chat_id, record, pictures)


class OnAFullDisk(Desk):
    """Its chats lie on one."""

    def __init__(self, endpoint: Endpoint, shelf: DiskShelf) -> None:
        super().__init__(endpoint, FullDisk(shelf._folder))


class Careless(Desk):
    """A desk with a mistake in it."""

    async def _steps(self, *_asked: object) -> AsyncGenerator[Step, None]:
        async for step in super()._steps(*_asked):  # type: ignore[arg-type]  # passed on as it came
            yield step
            raise ZeroDivisionError


@pytest.fixture
def run(stub: tuple[str, Seen], tmp_path: Path) -> Callable[..., None]:
    """A case with an open chat in which nothing was asked; nothing may take longer than a few seconds."""

    async def whole(case: Case, kind: type[Desk]) -> None:
        desk = kind(Endpoint(stub[0]), DiskShelf(tmp_path))
        chat = OpenChat(desk.shelf.create(), desk, lambda *_: None)
        async with asyncio.timeout(10):
            await case(chat)
        assert not chat.answering

    return lambda case, kind=Desk: asyncio.run(whole(case, kind))


async def ask(chat: OpenChat, text: str) -> None:
    await chat.ask("tab", text, (), OnNewPicture.START_OVER)


async def answered(chat: OpenChat) -> list[str]:
    """Its answers, once nothing is under way."""
    while chat.answering:
        await asyncio.sleep(0.002)
    return [turn.answer.strip() for turn in chat.turns]


def test_a_stop_in_the_moment_of_the_question(run: Callable[..., None]) -> None:
    async def case(chat: OpenChat) -> None:
        await asyncio.gather(ask(chat, "hold"), chat.stop())  # the answer's task has not begun
        assert (chat.answering, [one.key for one in chat.notices]) == (False, ["chat.stopped"])
        await ask(chat, "hello")
        assert await answered(chat) == ["I see no picture (turn 1)."]

    run(case)


def test_a_question_that_comes_while_an_undo_waits_for_the_stop(run: Callable[..., None]) -> None:
    async def asks(chat: OpenChat) -> None:
        while chat.answering:
            await asyncio.sleep(0)
        await ask(chat, "hello")

    async def case(chat: OpenChat) -> None:
        await ask(chat, "one")
        await answered(chat)
        await chat.edit("tab", 0, "hold", None)
        told = await asyncio.gather(asks(chat), chat.undo(), return_exceptions=True)
        assert [type(one) for one in told] == [type(None), Conflict]
        assert await answered(chat) == ["I see no picture (turn 1)."]
        assert chat.desk.shelf.load(chat.chat.id).conversation.turns[0].question == "hello"

    run(case)


def test_of_two_questions_at_once_one_is_refused(run: Callable[..., None]) -> None:
    async def case(chat: OpenChat) -> None:
        told = await asyncio.gather(ask(chat, "one"), ask(chat, "two"), return_exceptions=True)
        assert [type(one) for one in told] == [type(None), Conflict]
        assert await answered(chat) == ["I see no picture (turn 1)."]

    run(case)


def test_a_question_that_the_disk_does_not_take_is_refused(run: Callable[..., None]) -> None:
    async def case(chat: OpenChat) -> None:
        with pytest.raises(HistoryUnwritable):
            await ask(chat, "hello")
        assert chat.turns == ()

    run(case, OnAFullDisk)


def test_our_own_mistake_is_told(run: Callable[..., None], caplog: pytest.LogCaptureFixture) -> None:
    async def case(chat: OpenChat) -> None:
        await ask(chat, "hello")
        await answered(chat)
        assert chat.problem is not None
        assert chat.problem.code == "server_failed"
        assert "ZeroDivisionError" in caplog.text

    run(case, Careless)
