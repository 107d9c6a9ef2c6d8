"""Expectation 9: what the model thinks is folded away, and never sent again."""

from __future__ import annotations

import pytest
from tests.browser.conftest import Look, Open, both_looks
from tests.browser.stub import Seen

pytestmark = pytest.mark.browser
TITLE = {"en": "Thinking", "zh": "思考过程"}


@both_looks
def test_thinking_is_folded(look: Look, open_page: Open, seen: Seen) -> None:
    page = open_page(look)
    assert page.ask("think") == "I see no picture (turn 1)."
    fold = page.page.locator("details.thinking")
    assert fold.locator("summary").inner_text() == TITLE[look.language]
    assert not fold.locator(".thought").is_visible()
    fold.locator("summary").focus()
    page.page.keyboard.press("Enter")
    assert fold.locator(".thought").inner_text() == "I look at the picture."
    page.ask("hello")
    assert "I look at" not in str(seen.last)


def test_thinking_survives_a_reload(open_page: Open) -> None:
    page = open_page()
    page.ask("think")
    page.reload()
    page.page.locator("details.thinking").wait_for()
    assert page.last_reply == "I see no picture (turn 1)."
