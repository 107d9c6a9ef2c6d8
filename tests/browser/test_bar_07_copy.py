"""Expectation 7: the question, the answer, a piece of code and the whole chat are copied."""

from __future__ import annotations

import pytest
from tests.browser.conftest import Look, Open, both_looks
from tests.browser.page import ChatPage
from tests.browser.stub import RICH

pytestmark = pytest.mark.browser
NAMES = {
    "en": ("Copy the question", "Copy the answer", "Copied"),
    "zh": ("复制问题", "复制回答", "已复制"),
}


def clipboard(page: ChatPage) -> str:
    return page.page.evaluate("navigator.clipboard.readText()")


@both_looks
def test_question_and_answer(look: Look, open_page: Open) -> None:
    question, answer, copied = NAMES[look.language]
    page = open_page(look)
    page.ask("rich please")
    page.page.get_by_role("button", name=answer).click()
    page.page.get_by_role("button", name=copied).wait_for()
    assert clipboard(page).strip() == RICH.strip()  # the Markdown itself, not what it looks like
    page.page.locator(".question").hover()
    page.page.get_by_role("button", name=question).click()
    page.page.wait_for_function("async () => await navigator.clipboard.readText() === 'rich please'")


def test_a_piece_of_code(open_page: Open) -> None:
    page = open_page()
    page.ask("rich please")
    page.page.locator(".code-bar").get_by_role("button", name="Copy").click()
    page.page.locator(".code-bar").get_by_text("Copied").wait_for()
    assert clipboard(page) == "def area(radius: float) -> float:\n    return 3.14159 * radius**2\n"


def test_the_whole_chat(open_page: Open) -> None:
    page = open_page()
    page.ask("one")
    page.ask("two")
    page.page.locator(".chats .current summary").click()
    page.page.get_by_role("button", name="Copy the whole chat").click()
    page.page.wait_for_function("async () => (await navigator.clipboard.readText()).includes('turn 2')")
    text = clipboard(page)
    assert text.index("one") < text.index("I see no picture (turn 1).") < text.index("two")
