"""Expectation 4: stop really stops the engine; so does a closed tab; a reload does not."""

from __future__ import annotations

import pytest
from tests.browser.conftest import DESK, Look, Open, both_looks
from tests.browser.page import ChatPage, until
from tests.browser.stub import Seen

pytestmark = pytest.mark.browser
STOPPED = {"en": "Stopped.", "zh": "已停止。"}


def streaming(page: ChatPage, word: str = "word5") -> ChatPage:
    """A long answer is asked for and under way."""
    page.send("slow please")
    page.page.get_by_text(word).wait_for()
    return page


@both_looks
def test_stop_ends_the_answer_at_the_engine_and_keeps_what_came(look: Look, open_page: Open, seen: Seen) -> None:
    page = streaming(open_page(look))
    page.stop()
    until(lambda: seen.given_up == 1, "the engine noticed")
    assert seen.pieces_sent < 150
    assert page.answer().startswith("word0")
    assert STOPPED[look.language] in page.notices
    assert page.page.locator(".unfinished").count() == 0  # said once
    assert page.ask("hello") == "I see no picture (turn 2)."
    assert page.page.locator(".unfinished").all_inner_texts() == [STOPPED[look.language]]
    assert seen.last[1]["content"].startswith("word0")


def test_escape_is_the_stop_key(open_page: Open, seen: Seen) -> None:
    page = streaming(open_page())
    page.page.keyboard.press("Escape")
    until(lambda: seen.given_up == 1, "the engine noticed")


def test_stop_before_the_first_token(open_page: Open, seen: Seen) -> None:
    page = open_page()
    page.send("hold")
    until(lambda: seen.active == 1, "the question arrived")
    page.stop()
    until(lambda: seen.given_up == 1, "the engine noticed")
    page.shows("Stopped.")
    assert page.ask("hello") == "I see no picture (turn 1)."


@pytest.mark.parametrize("text", ["slow please", "hold"])
def test_a_closed_tab_frees_the_engine_and_the_answer_is_kept(text: str, open_page: Open, seen: Seen) -> None:
    page = open_page()
    page.send(text)
    until(lambda: seen.active == 1, "the question arrived")
    if text == "slow please":
        page.shows("word2")
    place = page.page.evaluate("location.pathname + location.hash")
    page.page.close()
    until(lambda: seen.given_up == 1, "the engine noticed", wait_s=5)
    later = open_page(DESK, place)
    later.page.locator(".turn").wait_for()
    if text == "slow please":
        assert later.answer().startswith("word0 word1")


def test_a_reload_goes_on(open_page: Open, seen: Seen) -> None:
    page = streaming(open_page())
    page.reload()
    page.shows("word40")
    assert (seen.given_up, seen.active) == (0, 1)
    assert page.last_reply.startswith("word0 word1")


def test_a_second_tab_that_shows_the_chat_holds_the_answer(open_page: Open, seen: Seen) -> None:
    page = streaming(open_page())
    second = open_page(DESK, page.page.evaluate("location.pathname + location.hash"))
    second.shows("word5")
    page.page.close()
    second.shows("word60")
    assert (seen.given_up, seen.active) == (0, 1)


def test_another_chat_of_the_tab_goes_on(open_page: Open, seen: Seen) -> None:
    page = streaming(open_page())
    page.page.keyboard.press("Alt+n")
    assert page.ask("hello") == "I see no picture (turn 1)."
    assert (seen.given_up, seen.active) == (0, 1)
    page.page.locator(".chats a", has_text="slow please").first.click()
    page.shows("word10")
    page.stop()


def test_clear_in_the_middle_of_an_answer(open_page: Open, seen: Seen) -> None:
    page = streaming(open_page())
    page.clear()
    until(lambda: seen.given_up == 1, "the engine noticed")
    page.shows("no longer sent")
    assert page.ask("hello") == "I see no picture (turn 1)."
    assert len(seen.last) == 1


def test_eight_chats_stream_at_once_in_one_browser(open_page: Open, seen: Seen) -> None:
    pages = [open_page() for _ in range(8)]
    for page in pages:
        page.send("slow please")
    until(lambda: seen.active == 8, "all eight are answered at once")
    for page in pages:
        page.shows("word3")
    assert seen.given_up == 0
