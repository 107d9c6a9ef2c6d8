"""A tab gets what it lacks, whatever happened meanwhile, and nothing twice."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.web.tabs import Tab, Tabs


def open_chat(chat_id: str = "a1") -> Any:
    """What a tab looks at of a chat that is open."""
    return SimpleNamespace(version=0, answer_now=("", ""), turns=("only",), chat=SimpleNamespace(id=chat_id), holder="")


def view(chat: Any, language: str) -> dict[str, object]:
    return {"id": chat.chat.id, "version": chat.version, "text": chat.answer_now[0], "language": language}


class Reader:
    """The page's side: it applies news as `chats.js` does."""

    def __init__(self) -> None:
        self.text = self.thinking = ""

    def take(self, news: Sequence[dict[str, Any]]) -> None:
        for event in news:
            if event["event"] == "chat":
                self.text = event["chat"]["text"]
            elif event["event"] == "answer":
                assert event["text_at"] <= len(self.text)
                self.text = self.text[: event["text_at"]] + event["text"]
                self.thinking = self.thinking[: event["thinking_at"]] + event["thinking"]


@given(st.lists(st.tuples(st.text("ab<", max_size=12), st.text("ab", max_size=6)), max_size=20), st.integers(1, 5))
def test_the_reader_ends_with_what_the_server_has(states: list[tuple[str, str]], every: int) -> None:
    chat, tab, reader = open_chat(), Tab("t", "r", "en"), Reader()
    tab.watch(chat)
    reader.take(list(tab.news(view)))
    for number, state in enumerate(states):
        chat.answer_now = state
        if number % every == 0:
            reader.take(list(tab.news(view)))
    reader.take(list(tab.news(view)))
    assert (reader.text, reader.thinking) == chat.answer_now
    assert list(tab.news(view)) == []


def test_a_change_of_the_chat_comes_whole_and_in_the_tabs_language() -> None:
    chat, tab = open_chat(), Tab("t", "r", "zh")
    tab.watch(chat)
    chat.answer_now = ("so far", "")
    (event,) = tab.news(view)
    assert event["chat"] == {"id": "a1", "version": 0, "text": "so far", "language": "zh"}
    chat.version = 1
    assert [event["event"] for event in tab.news(view)] == ["chat"]


def test_growth_is_sent_as_its_end() -> None:
    chat, tab = open_chat(), Tab("t", "r", "en")
    tab.watch(chat)
    list(tab.news(view))
    chat.answer_now = ("I see", "hm")
    list(tab.news(view))
    chat.answer_now = ("I see red", "hm")
    (event,) = tab.news(view)
    assert (event["text_at"], event["text"], event["thinking_at"], event["thinking"]) == (5, " red", 2, "")


def test_only_those_who_are_meant_wake() -> None:
    tabs, chat = Tabs(), open_chat()
    mine, other = Tab("1", "reader", "en"), Tab("2", "somebody", "zh")
    for tab in (mine, other):
        tabs.add(tab)
    mine.watch(chat)
    mine.wake.clear()
    tabs.chat_changed(chat)
    assert (mine.wake.is_set(), other.wake.is_set()) == (True, False)
    tabs.list_changed("somebody")
    assert [event["event"] for event in other.news(view)] == ["chats"]
    tabs.status_changed({"en": {"state": "answering"}, "zh": {"state": "正常"}})
    assert list(other.news(view)) == [{"event": "status", "status": {"state": "正常"}}]


@pytest.mark.parametrize("stays", ["shows", "asked"])
def test_who_holds_an_answer(stays: str) -> None:
    tabs, chat = Tabs(), open_chat()
    tab = Tab("1", "reader", "en")
    tabs.add(tab)
    assert not tabs.hold(chat)
    if stays == "shows":
        tab.watch(chat)
    else:
        chat.holder = "1"
    assert tabs.hold(chat)
    tabs.remove(tab)
    assert not tabs.hold(chat)
    assert len(tabs) == 0
