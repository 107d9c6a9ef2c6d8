"""Who holds an answer: a tab that is open, one that is on its way back, and nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.browser.stub import Seen

from fitserve.chat.conversation import OnNewPicture
from fitserve.chat.endpoint import Endpoint
from fitserve.chat.room import Room
from fitserve.web import readers as module
from fitserve.web.open_chat import OpenChat
from fitserve.web.readers import Readers
from fitserve.web.tabs import Tab

Case = Callable[[Readers, OpenChat, Tab], Awaitable[None]]


@pytest.fixture
def run(stub: tuple[str, Seen], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Case], None]:
    """A case: a tab has asked something that is not answered for a minute. Nobody is waited for as long as in truth."""
    for name in ("_GRACE_S", "_TORN_S", "_LOOK_S"):
        monkeypatch.setattr(module, name, getattr(module, name) / 100)

    async def whole(case: Case) -> None:
        readers = Readers(Endpoint(stub[0]), tmp_path, Room())
        tab = Tab("tab", "reader", "en")
        readers.tab_opened(tab)
        chat = readers["reader"].create()
        await chat.ask("tab", "hold", (), OnNewPicture.START_OVER)
        await case(readers, chat, tab)
        await readers.close()
        assert not chat.answering

    return lambda case: asyncio.run(whole(case))


async def freed(chat: OpenChat) -> None:
    async with asyncio.timeout(5):
        while chat.answering:
            await asyncio.sleep(0.002)


@pytest.mark.parametrize("left", [True, False])
def test_a_tab_that_is_gone_frees_its_answer(run: Callable[[Case], None], left: bool) -> None:
    async def case(readers: Readers, chat: OpenChat, tab: Tab) -> None:
        readers.tab_closed(tab, left)
        assert chat.answering
        await freed(chat)
        assert [notice.key for notice in chat.notices] == ["chat.stopped"]

    run(case)


def test_a_reload_holds_it(run: Callable[[Case], None]) -> None:
    async def case(readers: Readers, chat: OpenChat, tab: Tab) -> None:
        readers.page_sent("reader")  # the browser asks for the page before it closes the old socket
        readers.tab_closed(tab, left=True)
        await asyncio.sleep(0.02)
        assert chat.answering
        readers.tab_opened(Tab("tab", "reader", "en"))
        await asyncio.sleep(0.1)
        assert chat.answering

    run(case)


def test_a_page_that_never_opens_its_socket_holds_nothing_for_long(
    run: Callable[[Case], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_ARRIVAL_S", 0.05)

    async def case(readers: Readers, chat: OpenChat, tab: Tab) -> None:
        readers.page_sent("reader")
        readers.tab_closed(tab, left=True)
        await freed(chat)

    run(case)


def test_another_tab_that_shows_the_chat_holds_it(run: Callable[[Case], None]) -> None:
    async def case(readers: Readers, chat: OpenChat, tab: Tab) -> None:
        second = Tab("second", "reader", "zh")
        readers.tab_opened(second)
        second.watch(chat)
        readers.tab_closed(tab, left=True)
        await asyncio.sleep(0.05)
        assert chat.answering
        second.watch(None)
        readers.tab_closed(second, left=True)
        await freed(chat)

    run(case)


def test_a_question_that_was_asked_after_a_tab_closed_is_not_its_own(run: Callable[[Case], None]) -> None:
    async def case(readers: Readers, chat: OpenChat, tab: Tab) -> None:
        await chat.stop()
        readers.tab_closed(tab, left=False)  # the line tore; the page is alive and asks before it has another
        await chat.ask("tab", "hold", (), OnNewPicture.START_OVER)
        await asyncio.sleep(2 * module._TORN_S)
        assert chat.answering

    run(case)


@pytest.mark.parametrize("comes", [True, False])
def test_who_asks_before_the_socket_is_there_is_waited_for(run: Callable[[Case], None], comes: bool) -> None:
    async def case(readers: Readers, chat: OpenChat, tab: Tab) -> None:
        await chat.stop()
        await chat.ask("later", "hold", (), OnNewPicture.START_OVER)
        readers.asked("reader", chat)
        if comes:
            readers.tab_opened(Tab("later", "reader", "en"))
            await asyncio.sleep(2 * module._TORN_S)
            assert chat.answering
        else:
            await freed(chat)

    run(case)


def test_a_chat_that_is_deleted_is_told_to_the_tabs_that_show_it(run: Callable[[Case], None]) -> None:
    async def case(readers: Readers, chat: OpenChat, tab: Tab) -> None:
        tab.watch(chat)
        await readers["reader"].delete(chat.chat.id)
        gone = next(news for news in tab.news(lambda *_: {}) if news["event"] == "gone")
        assert (gone["id"], chat.answering) == (chat.chat.id, False)
        assert all(news["event"] != "gone" for news in tab.news(lambda *_: {}))

    run(case)


def test_many_readers_do_not_stay_in_memory(tmp_path: Path) -> None:
    readers = Readers(Endpoint("http://127.0.0.1:9"), tmp_path, Room())
    readers.tab_opened(Tab("tab", "0", "en"))
    for number in range(1000):
        assert readers[str(number)].chats() == ()
    assert len(readers._known) < 300
    assert "0" in readers._known
