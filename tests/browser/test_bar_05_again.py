"""Expectation 5: an answer is asked for again, and the one before is not lost."""

from __future__ import annotations

import pytest
from tests.browser.conftest import Look, MakePicture, Open, both_looks
from tests.browser.stub import Seen

pytestmark = pytest.mark.browser
AGAIN = {"en": "Answer again", "zh": "重新回答"}
UNDO = {"en": "Back to the other answer", "zh": "换回另一个回答"}


@both_looks
def test_again_and_back(look: Look, open_page: Open, seen: Seen) -> None:
    page = open_page(look)
    assert page.ask("differ") == "Answer number 1."
    page.page.get_by_role("button", name=AGAIN[look.language]).click()
    page.shows("Answer number 2.")
    assert len(seen.last) == 1  # the replaced answer is not part of the question
    page.page.get_by_role("button", name=UNDO[look.language]).click()
    page.shows("Answer number 1.")
    page.page.get_by_role("button", name=UNDO[look.language]).click()
    page.shows("Answer number 2.")
    assert page.ask("differ") == "Answer number 3."
    assert seen.last[1]["content"] == "Answer number 2."


def test_the_pictures_go_along(open_page: Open, picture: MakePicture, seen: Seen) -> None:
    page = open_page()
    page.ask("What?", picture("red"))
    page.press("Answer again")
    assert page.answer() == "I see red 320x240 (turn 1)."
    assert [len(request["messages"]) for request in seen.requests] == [1, 1]


def test_a_failed_question_is_tried_again(open_page: Open, seen: Seen) -> None:
    page = open_page()
    page.ask("too long")
    page.press("Try again")
    assert "no longer fits into the model's window" in page.answer()
    assert (page.questions.count(), len(seen.requests)) == (1, 2)
