"""Expectation 2: pictures are dragged onto the page, wherever they fall."""

from __future__ import annotations

import pytest
from tests.browser.conftest import Look, MakePicture, Open, both_looks

pytestmark = pytest.mark.browser

DRAG = """([name, files]) => {
    const transfer = new DataTransfer();
    if (files) transfer.items.add(new File(['x'], 'x.png', {type: 'image/png'}));
    else transfer.setData('text/plain', 'a word');
    return document.body.dispatchEvent(new DragEvent(name, {bubbles: true, cancelable: true, dataTransfer: transfer}));
}"""


@both_looks
@pytest.mark.parametrize("target", ["#question", ".messages", ".top"])
def test_a_picture_may_fall_anywhere(target: str, look: Look, open_page: Open, picture: MakePicture) -> None:
    page = open_page(look)
    page.drop(picture("green"), target)
    assert page.thumbnails.count() == 1
    assert page.box.evaluate("box => box === document.activeElement")
    if target == "#question":
        assert page.ask("What colour?") == "I see green 320x240 (turn 1)."


def test_the_page_shows_where_to_drop(open_page: Open) -> None:
    page = open_page()
    page.page.evaluate(DRAG, ["dragenter", True])
    page.page.get_by_text("Drop pictures here").wait_for()
    page.page.evaluate(DRAG, ["dragleave", True])
    page.page.get_by_text("Drop pictures here").wait_for(state="detached")


def test_dragged_text_is_left_to_the_browser(open_page: Open) -> None:
    page = open_page()
    assert page.page.evaluate(DRAG, ["dragenter", False])
    assert page.page.evaluate(DRAG, ["drop", False])
    assert page.page.locator(".drop").count() == 0
    assert page.entries.count() == 0
