"""Expectation 12: a telephone. Nothing is wider than the window, everything can be hit, Enter is a new line."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser
from tests.browser.conftest import DESK, PHONE, Look, MakePicture, Open
from tests.browser.page import ChatPage
from tests.browser.stub import Seen

pytestmark = pytest.mark.browser

SMALL = """() => [...document.querySelectorAll('button, a, summary, select, input:not([tabindex="-1"])')]
    .filter(it => it.checkVisibility({visibilityProperty: true}) && !it.closest('.answer, .skip, [aria-hidden=true]'))
    .map(it => [it.getAttribute('aria-label') || it.innerText || it.name, it.getBoundingClientRect()])
    .filter(([, box]) => box.width && (box.width < 24 || box.height < 24))
    .map(([name, box]) => `${name}: ${Math.round(box.width)}x${Math.round(box.height)}`)"""
LANDSCAPE = Look("en-GB", "light", 844, 390)


@pytest.mark.parametrize("look", [PHONE, LANDSCAPE, DESK], ids=str)
def test_nothing_is_wider_or_taller_than_the_window(look: Look, open_page: Open, picture: MakePicture) -> None:
    page = open_page(look)
    page.ask("rich, please", picture("red", size=(2000, 300)))
    page.attach(picture("green"), picture("blue", name="a-very-long-name-of-a-picture-file-" * 4 + ".png"))
    wide, high = page.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert (wide <= look.width, high <= look.height) == (True, True)
    box = page.box.bounding_box()
    assert box
    assert box["y"] + box["height"] <= look.height
    assert page.page.evaluate(SMALL) == []


def test_the_drawer_lies_over_the_page_and_goes_away(open_page: Open) -> None:
    page = open_page(PHONE)
    drawer = page.page.locator(".drawer")
    assert not drawer.is_visible()
    page.page.get_by_role("button", name="历史对话").click()
    drawer.wait_for()
    assert page.page.evaluate("document.documentElement.scrollWidth") <= PHONE.width
    page.page.mouse.click(380, 400)  # beside it
    drawer.wait_for(state="hidden")


def test_on_a_touch_screen_enter_is_a_new_line(browser: Browser, page_url: str, seen: Seen) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, locale="en-GB"
    )
    page = ChatPage(context.new_page(), page_url).open()
    page.box.tap()
    page.page.keyboard.type("one")
    page.page.keyboard.press("Enter")
    page.page.keyboard.type("two")
    assert (page.box.input_value(), seen.requests) == ("one\ntwo", [])
    page.page.get_by_role("button", name="Send").tap()
    assert page.answer() == "I see no picture (turn 1)."
    assert page.page.evaluate("visualViewport.width") <= 390
    context.close()
