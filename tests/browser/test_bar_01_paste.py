"""Expectation 1: a picture is pasted, and text stays text."""

from __future__ import annotations

import pytest
from tests.browser.conftest import Look, MakePicture, Open, both_looks
from tests.browser.page import ChatPage
from tests.browser.stub import Seen

pytestmark = pytest.mark.browser

PASTE = """(box, [text, picture]) => {
    const transfer = new DataTransfer();
    if (text) transfer.setData('text/plain', text);
    if (picture) transfer.items.add(new File([new Uint8Array(8)], 'cells.png', {type: 'image/png'}));
    const event = new ClipboardEvent('paste', {bubbles: true, cancelable: true, clipboardData: transfer});
    return box.dispatchEvent(event);
}"""


def taken_as_text(page: ChatPage, text: str, picture: bool = False) -> bool:
    """Whether the page leaves a paste to the browser, which writes it into the box."""
    return page.box.evaluate(PASTE, [text, picture])


@both_looks
def test_a_pasted_picture_goes_with_the_question(look: Look, open_page: Open, picture: MakePicture, seen: Seen) -> None:
    page = open_page(look)
    page.paste(picture("green"))
    assert page.thumbnails.count() == 1
    assert page.ask("What colour?") == "I see green 320x240 (turn 1)."
    assert page.thumbnails.count() == 0
    assert page.page.locator(".turn .pictures img").count() == 1
    assert len(seen.requests) == 1


def test_a_picture_alone_is_a_question(open_page: Open, picture: MakePicture, seen: Seen) -> None:
    page = open_page()
    page.paste(picture("green"))
    assert page.ask("") == "I see green 320x240 (turn 1)."
    assert seen.last[0]["content"][-1]["text"] == "What is in this picture?"


def test_text_is_never_made_a_file(open_page: Open) -> None:
    page = open_page()
    assert taken_as_text(page, "word " * 2000)
    assert taken_as_text(page, "a table of an office program", picture=True)
    assert not taken_as_text(page, "", picture=True)
    page.page.locator(".entry.refused").wait_for()  # eight zero bytes


def test_a_long_text_arrives_whole(open_page: Open, seen: Seen) -> None:
    text = "word " * 2000 + "end"
    open_page().ask(text)
    assert seen.last[0]["content"] == text
