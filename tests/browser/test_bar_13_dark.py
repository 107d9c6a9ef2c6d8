"""Expectation 13: dark as the system is, or as the reader chooses; without a flash of the other."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser
from tests.browser.page import ChatPage

pytestmark = pytest.mark.browser

BRIGHTNESS = """() => {
    const [r, g, b] = getComputedStyle(document.documentElement).backgroundColor.match(/[\\d.]+/g).map(Number);
    return (r + g + b) / 3;
}"""
FIRST_PAINT = f"addEventListener('DOMContentLoaded', () => {{ window.first = ({BRIGHTNESS})(); }})"


@pytest.mark.parametrize(("scheme", "other"), [("light", "Dark colours"), ("dark", "Light colours")])
def test_the_systems_choice_and_the_readers(scheme: str, other: str, browser: Browser, page_url: str) -> None:
    context = browser.new_context(color_scheme=scheme, locale="en-GB")  # type: ignore[arg-type]  # one of two words
    context.add_init_script(FIRST_PAINT)
    page = ChatPage(context.new_page(), page_url).open()
    is_dark = page.page.evaluate(BRIGHTNESS) < 128
    assert is_dark == (scheme == "dark")
    page.page.get_by_role("button", name=other).click()
    assert (page.page.evaluate(BRIGHTNESS) < 128) != is_dark
    page.reload()
    assert (page.page.evaluate("window.first") < 128) != is_dark  # before a script of ours has drawn anything
    context.close()


def test_it_changes_with_the_system_while_it_is_open(browser: Browser, page_url: str) -> None:
    context = browser.new_context(color_scheme="light", locale="en-GB")
    page = ChatPage(context.new_page(), page_url).open()
    assert page.page.evaluate(BRIGHTNESS) > 128
    page.page.emulate_media(color_scheme="dark")
    assert page.page.evaluate(BRIGHTNESS) < 128
    context.close()
