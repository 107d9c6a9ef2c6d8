"""Expectation 18: what goes wrong is told with the engine's own line and the next step; nothing is lost."""

from __future__ import annotations

import socket

import pytest
from playwright.sync_api import Browser
from tests.browser.conftest import Look, MakePicture, Open, both_looks
from tests.browser.page import ChatPage, served_page, until
from tests.browser.stub import TOO_LONG, Seen, stub_endpoint

pytestmark = pytest.mark.browser

TRY_AGAIN = {"en": "Try again", "zh": "再试一次"}


def no_machinery(page: ChatPage) -> bool:
    """Nothing that only a programmer reads."""
    text = page.page.inner_text("body")
    return not any(word in text for word in ("Traceback", "Exception", "undefined", "[object", "NaN", "null"))


@both_looks
def test_too_long_for_the_model(look: Look, open_page: Open, seen: Seen) -> None:
    page = open_page(look)
    page.send("This is too long.")
    problem = page.page.locator(".problem")
    problem.wait_for()
    assert TOO_LONG[:60] in problem.inner_text()  # what people search for stays English
    assert problem.locator("p").count() >= 2  # and the next step
    assert no_machinery(page)
    page.page.get_by_role("button", name=TRY_AGAIN[look.language]).click()
    until(lambda: len(seen.requests) == 2, "the same question again")
    page.answer()
    assert page.ask("short") == "I see no picture (turn 1)."
    assert page.page.locator(".problem").count() == 0


def test_an_answer_that_breaks_off_is_kept(open_page: Open) -> None:
    page = open_page()
    page.send("break")
    page.page.locator(".problem").wait_for()
    assert page.answers.first.inner_text().startswith("I see no picture")
    assert no_machinery(page)
    page.ask("hello")
    assert page.page.locator(".unfinished").all_inner_texts() == ["Broken off: this is not the whole answer."]


def test_nobody_answers_and_then_somebody_does(
    browser: Browser, page_env: dict[str, str], picture: MakePicture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    context = browser.new_context(locale="en-GB")
    with served_page("--backend-url", f"http://127.0.0.1:{port}", env=page_env) as url:
        page = ChatPage(context.new_page(), url).open()
        page.page.get_by_text(f"Nobody answers at http://127.0.0.1:{port}").wait_for()
        page.attach(picture("red"))
        page.send("What colour?")
        page.page.locator(".problem").wait_for()
        assert no_machinery(page)
        with stub_endpoint(model="late", port=port):
            page.page.locator(".strip .answering").wait_for()
            page.page.get_by_role("button", name="Try again").click()
            page.answers.filter(has_text="I see red 320x240 (turn 1).").wait_for()
    page.page.get_by_text("The connection to the page's server is lost").wait_for()
    page.send("anybody?")
    page.page.get_by_text("The page's server does not answer.").wait_for()
    assert page.box.input_value() == "anybody?"
    context.close()
