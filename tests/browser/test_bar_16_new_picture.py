"""Expectation 16: a new picture is not answered from the old one. Asked once, remembered, taken back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from tests.browser.conftest import DESK, PHONE, Look, MakePicture
from tests.browser.page import ChatPage
from tests.browser.stub import Seen, pictures

pytestmark = pytest.mark.browser

WORDS = {
    "en": ("New topic", "Compare", "Bring the earlier conversation back and ask again", "Bring it back"),
    "zh": ("新话题", "对比", "找回之前的对话，重新提问", "恢复发送"),
}


@pytest.fixture(params=[DESK, PHONE], ids=str)
def look(request: pytest.FixtureRequest) -> Look:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def page(browser: Browser, page_url: str, look: Look) -> Iterator[ChatPage]:
    """A reader whom nobody has asked yet: what is remembered is theirs alone."""
    size = {"width": look.width, "height": look.height}
    context = browser.new_context(locale=look.locale, viewport=size)  # type: ignore[arg-type]  # both keys are there
    yield ChatPage(context.new_page(), page_url).open()
    context.close()


def shown(seen: Seen) -> list[int]:
    """Widths of the pictures in the last request."""
    return [image.width for image in pictures(seen.last)]


def test_a_new_topic(page: ChatPage, look: Look, picture: MakePicture, seen: Seen) -> None:
    new_topic, _, take_back, _ = WORDS[look.language]
    page.ask("What colour?", picture("red", size=(100, 90)))
    page.attach(picture("green", size=(110, 90)))
    page.send("And this?")
    assert len(seen.requests) == 1  # asked first
    before = page.asked
    page.page.get_by_role("button", name=new_topic).click()
    assert page.answer(before) == "I see green 110x90 (turn 1)."
    assert shown(seen) == [110]

    assert page.ask("And this?", picture("blue", size=(120, 90))) == "I see blue 120x90 (turn 1)."  # remembered
    asked = len(seen.requests)
    page.page.get_by_role("button", name=take_back).click()
    page.answers.filter(has_text="(turn 2)").wait_for()
    assert (len(seen.requests), shown(seen)) == (asked + 1, [110, 120])


def test_comparing(page: ChatPage, look: Look, picture: MakePicture, seen: Seen) -> None:
    page.ask("What colour?", picture("red", size=(100, 90)))
    page.attach(picture("green", size=(110, 90)))
    page.send("Compare them.")
    before = page.asked
    page.page.get_by_role("button", name=WORDS[look.language][1]).click()
    assert page.answer(before) == "I see red 100x90, green 110x90 (turn 2)."
    assert page.ask("All?", picture("blue", size=(120, 90))) == "I see red 100x90, green 110x90, blue 120x90 (turn 3)."


def test_clear_and_back(page: ChatPage, look: Look, picture: MakePicture, seen: Seen) -> None:
    page.ask("What colour?", picture("red", size=(100, 90)))
    page.clear()
    bring_back = page.page.get_by_role("button", name=WORDS[look.language][3])
    bring_back.wait_for()
    assert page.ask("What did I show?") == "I see no picture (turn 1)."
    assert page.questions.count() == 2  # seen, but not sent
    bring_back.click()
    bring_back.wait_for(state="detached")
    assert page.ask("And now?") == "I see red 100x90 (turn 3)."


def test_a_question_that_failed_does_not_poison_the_next(
    page: ChatPage, look: Look, picture: MakePicture, seen: Seen
) -> None:
    page.ask("What colour?", picture("red", size=(100, 90)))
    page.ask("This is too long.")
    assert page.ask("And now?").startswith("I see red 100x90 (turn")
    assert "too long" not in str(seen.last[:-1])
