"""Expectation 6: an earlier question is changed and asked again."""

from __future__ import annotations

import pytest
from tests.browser.conftest import Look, MakePicture, Open, both_looks
from tests.browser.page import ChatPage
from tests.browser.stub import Seen

pytestmark = pytest.mark.browser
EDIT = {"en": "Edit and ask again", "zh": "修改后重新提问"}
SEND = {"en": "Send", "zh": "发送"}


def editor(page: ChatPage, turn: int, language: str = "en") -> None:
    """Open the editor of a question."""
    question = page.page.locator(".turn").nth(turn).locator(".question")
    question.hover()
    question.get_by_role("button", name=EDIT[language]).click()


@both_looks
def test_an_earlier_question_is_changed(look: Look, open_page: Open, picture: MakePicture, seen: Seen) -> None:
    page = open_page(look)
    page.ask("What colour?", picture("red"))
    page.ask("Are you sure?")
    editor(page, 0, look.language)
    field = page.page.locator(".editor textarea")
    assert field.input_value() == "What colour?"
    field.fill("Which shade?")
    page.page.locator(".editor").get_by_role("button", name=SEND[look.language]).click()
    page.page.wait_for_function("() => document.querySelectorAll('.turn').length === 1")
    assert page.answer() == "I see red 320x240 (turn 1)."
    assert seen.last[0]["content"][-1]["text"] == "Which shade?"
    assert page.questions.all_inner_texts() == ["Which shade?"]


def test_what_came_after_can_be_brought_back(open_page: Open, seen: Seen) -> None:
    page = open_page()
    page.ask("one")
    page.ask("two")
    editor(page, 0)
    page.page.locator(".editor textarea").fill("uno")
    page.page.keyboard.press("Enter")
    page.shows("uno")
    page.answer()
    page.page.get_by_role("button", name="Back to the other answer").click()
    page.page.wait_for_function("() => document.querySelectorAll('.turn').length === 2")
    assert page.questions.all_inner_texts() == ["one", "two"]


def test_a_picture_is_taken_out_while_editing(open_page: Open, picture: MakePicture) -> None:
    page = open_page()
    page.ask("Compare.", picture("red"), picture("blue"))
    editor(page, 0)
    page.page.locator(".editor").get_by_role("button", name="Remove red.png").click()
    page.page.locator(".editor textarea").press("Enter")
    page.page.locator(".editor").wait_for(state="detached")
    assert page.answer() == "I see blue 320x240 (turn 1)."


def test_the_arrow_key_edits_the_last_question_and_escape_leaves_it(open_page: Open, seen: Seen) -> None:
    page = open_page()
    page.ask("one")
    page.box.press("ArrowUp")
    assert page.page.locator(".editor textarea").evaluate("field => field === document.activeElement")
    page.page.keyboard.press("Escape")
    page.page.locator(".editor").wait_for(state="detached")
    assert page.box.evaluate("box => box === document.activeElement")
    assert (page.questions.all_inner_texts(), len(seen.requests)) == (["one"], 1)
