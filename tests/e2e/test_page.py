"""The page that `up` started, in a real Chromium, before the real engine: pictures in, right answers out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright
from tests.browser.page import ChatPage, start_browser

from fitserve.demo import Sample, sample

pytestmark = [pytest.mark.engine, pytest.mark.browser, pytest.mark.timeout(900)]


@pytest.fixture
def chat(demo: dict[str, Any]) -> Iterator[ChatPage]:
    with sync_playwright() as playwright:
        browser = start_browser(playwright)
        page = ChatPage(browser.new_page(locale="en"), demo["page_url"])
        yield page.open()
        assert not page.outside
        browser.close()


def picture(folder: Path, one: Sample) -> Path:
    file = folder / f"{one.seed}.{one.image_format.lower()}"
    file.write_bytes(one.image_bytes)
    return file


def test_two_pictures_each_answered_from_itself(chat: ChatPage, tmp_path: Path) -> None:
    first = sample(7_500_001, kind="count", phrasing=0)
    second = next(
        one
        for one in (sample(seed, kind="count", phrasing=0) for seed in range(7_500_002, 7_500_100))
        if one.question.answer != first.question.answer and one.question.text == first.question.text
    )
    assert first.is_right(chat.ask(first.question.text, picture(tmp_path, first)))
    chat.attach(picture(tmp_path, second))
    chat.send(second.question.text)
    chat.new_topic()
    assert second.is_right(chat.answer())
    assert chat.notices
