"""The page that `up` started, in a real Chromium, before the real engine: pictures in, right answers out."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import sync_playwright
from tests.browser.page import ChatPage, served_page, start_browser, until

from e2e.conftest import Fitserve
from fitserve.demo import LANGUAGES, Language, Sample, sample
from fitserve.observe.metrics import read_metrics

pytestmark = [pytest.mark.engine, pytest.mark.browser, pytest.mark.timeout(900)]

Open = Callable[..., ChatPage]
WORDY = (sys.executable, str(Path(__file__).with_name("wordy.py")))


@pytest.fixture
def open_chat(demo: dict[str, Any]) -> Iterator[Open]:
    """`open_chat("zh")`: a tab of a new reader, on the page that `up` started or on another."""
    ChatPage.failures.clear()
    with sync_playwright() as playwright:
        browser = start_browser(playwright)
        pages: list[ChatPage] = []

        def opening(language: Language = "en", url: str = demo["page_url"]) -> ChatPage:
            tab = browser.new_page(locale=language, viewport={"width": 1180, "height": 720})
            pages.append(ChatPage(tab, url).open(f"/{language}/"))
            return pages[-1]

        yield opening
        assert not any(page.outside for page in pages)
        assert ChatPage.failures == []
        browser.close()


def picture(folder: Path, one: Sample) -> Path:
    file = folder / f"{one.seed}.{one.image_format.lower()}"
    file.write_bytes(one.image_bytes)
    return file


def running(url: str) -> float:
    """Requests that the engine itself counts as running: `vllm:num_requests_running`."""
    told = read_metrics(httpx2.get(f"{url}/metrics").text)
    assert told
    return told.values["running"]


def seconds_to_free(chat: ChatPage, url: str) -> float:
    """From closing a tab in the middle of its answer until the engine counts no request."""
    chat.send("How many shapes are there?")
    chat.answers.first.wait_for()
    until(lambda: running(url) == 1, "the answer is under way")
    chat.page.close()
    closed = time.monotonic()
    until(lambda: running(url) == 0, "the slot is free")
    return time.monotonic() - closed


def test_two_pictures_each_answered_from_itself(open_chat: Open, tmp_path: Path) -> None:
    chat = open_chat()
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


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_picture_stands_whole_above_its_answer(open_chat: Open, tmp_path: Path, language: Language) -> None:
    """`FITSERVE_SCREENS=DIR` keeps it: these are the pictures of the READMEs."""
    chat, one = open_chat(language), sample(7_600_000, language, kind="place")
    assert one.is_right(chat.ask(one.question.text, picture(tmp_path, one)))
    chat.page.wait_for_function("() => document.querySelector('.turn img').complete")
    shown, around = (chat.page.locator(name).bounding_box() for name in (".turn img", ".messages"))
    assert shown
    assert around
    assert around["y"] <= shown["y"] < shown["y"] + shown["height"] <= around["y"] + around["height"]
    if folder := os.environ.get("FITSERVE_SCREENS"):
        chat.page.screenshot(path=Path(folder) / f"page-{language}.png")


def test_a_closed_tab_frees_its_slot_by_the_engines_own_count(
    open_chat: Open, demo: dict[str, Any], fitserve: Fitserve
) -> None:
    with served_page("--backend-url", demo["url"], env=fitserve.env, program=WORDY) as page_url:
        took = [seconds_to_free(open_chat("en", page_url), demo["url"]) for _ in range(3)]
    assert min(took) < 1.0  # the other tests of this machine may hold one up


def test_our_own_looks_leave_no_line_in_the_engines_log(fitserve: Fitserve, demo: dict[str, Any]) -> None:
    said = fitserve("logs", demo["name"], "-n", "5000").stdout
    assert "POST /v1/chat/completions" in said
    assert "GET /metrics" not in said
    assert "GET /health" not in said
