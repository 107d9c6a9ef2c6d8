"""Expectation 10: time to the first token, tokens per second and token counts under each answer."""

from __future__ import annotations

import re

import pytest
from tests.browser.conftest import Look, Open, both_looks
from tests.browser.page import until
from tests.browser.stub import Seen

pytestmark = pytest.mark.browser
LINE = {
    "en": r"first token \d+\.\d\d s · \d+\.\d tokens/s · 12 tokens, prompt 40",
    "zh": r"首字 \d+\.\d\d 秒 · \d+\.\d token/s · 回答 12 token，输入 40 token",
}
BRIEF = {
    "en": r"first token \d+\.\d\d s · 6 tokens, prompt 40",
    "zh": r"首字 \d+\.\d\d 秒 · 回答 6 token，输入 40 token",
}


@both_looks
def test_each_answer_has_its_figures(look: Look, open_page: Open) -> None:
    page = open_page(look)
    page.ask("steady please")
    page.ask("hello")  # six tokens in one burst: no rate
    lines = page.page.locator(".figures").all_inner_texts()
    assert re.fullmatch(LINE[look.language], lines[0]), lines
    assert re.fullmatch(BRIEF[look.language], lines[1]), lines
    page.reload()
    page.page.locator(".figures").nth(1).wait_for()
    assert page.page.locator(".figures").all_inner_texts() == lines


def test_what_nobody_counted_is_not_invented(open_page: Open, seen: Seen) -> None:
    page = open_page()
    page.send("slow please")
    page.page.get_by_text("word5").wait_for()
    page.stop()
    until(lambda: seen.given_up == 1, "the engine noticed")
    page.page.get_by_text("tokens not counted").wait_for()
