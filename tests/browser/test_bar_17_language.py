"""Expectation 17: Chinese or English, as the browser wants it, changed with one click; and nothing in the other one."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page
from tests.browser.conftest import DESK, PHONE, Look, MakePicture, Open

pytestmark = pytest.mark.browser

TEXTS = """() => {
    const said = [...document.querySelectorAll('[aria-label], [title], [placeholder], [alt]')]
        .filter(it => !it.closest('.answer, .turn .question, .tray'))
        .flatMap(it => ['aria-label', 'title', 'placeholder', 'alt'].map(name => it.getAttribute(name) || ''));
    const body = document.body.cloneNode(true);
    const code = 'script, style, noscript, kbd, [translate=no], [lang], img';
    body.querySelectorAll(code + ', .answer, .question .said, .model, [aria-live]').forEach(it => it.remove());
    return said.concat(body.innerText || body.textContent).join('\\n');
}"""
NO_WORDS = {  # names and units, the same in both languages
    "fitserve", "token", "tokens", "Markdown", "JSON", "ZIP", "Alt", "Enter", "Shift", "Esc", "English", "GiB", "MiB",
    "demo", "What", "colour", "png", "red", "http", "API",
}  # fmt: skip


def everything(page: Page) -> str:
    """Opens what can be opened, and reads it all."""
    page.evaluate("document.querySelectorAll('details').forEach(it => { it.open = true; })")
    page.keyboard.press("Alt+Slash")
    return str(page.evaluate(TEXTS))


@pytest.mark.parametrize("look", [Look("zh-CN"), PHONE], ids=str)
def test_the_chinese_page_is_chinese(look: Look, open_page: Open, picture: MakePicture) -> None:
    page = open_page(look)
    assert page.page.evaluate("document.documentElement.lang") == "zh-CN"
    first = everything(page.page)
    page.page.keyboard.press("Escape")
    page.ask("What colour?", picture("red", size=(2000, 300)))
    page.attach(picture("red", size=(2000, 300)))
    text = first + everything(page.page)
    assert "问题" in text
    foreign = set(re.findall(r"[A-Za-z]{3,}", text)) - NO_WORDS
    assert foreign == set()


def test_the_english_page_is_english(open_page: Open, picture: MakePicture) -> None:
    page = open_page(DESK)
    page.ask("What colour?", picture("red", size=(2000, 300)))
    assert page.page.evaluate("document.documentElement.lang") == "en"
    assert re.findall(r"[\u4e00-\u9fff]+", everything(page.page)) == []  # the link to the Chinese page apart


def test_the_other_language_is_one_click_away_and_the_chat_stays(open_page: Open) -> None:
    page = open_page(DESK)
    page.ask("What colour?")
    page.page.get_by_role("link", name="中文").click()
    page.page.wait_for_url("**/zh/**")
    page.alive()
    page.answers.first.wait_for()
    page.page.get_by_role("link", name="English").click()
    page.page.wait_for_url("**/en/**")
    assert page.alive().page.locator(".turn").count() == 1
