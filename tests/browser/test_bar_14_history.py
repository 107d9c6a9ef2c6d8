"""Expectation 14: chats outlive a reload and the server's restart; they can be deleted, or not kept at all."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext
from tests.browser.conftest import Look, MakePicture, Open, both_looks
from tests.browser.page import ChatPage, served_page
from tests.browser.stub import Seen

pytestmark = pytest.mark.browser


def opened(context: BrowserContext, url: str, path: str = "/") -> ChatPage:
    return ChatPage(context.new_page(), url).open(path)


def files(env: dict[str, str]) -> list[Path]:
    """What chats have left on the disk: records and pictures, no settings."""
    found = (Path(env["XDG_STATE_HOME"]) / "fitserve" / "page").rglob("*")
    return [path for path in found if path.is_file() and "chats" in path.parts]


@pytest.fixture
def own_env(page_env: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """A state folder of this test's own."""
    return page_env | {"XDG_STATE_HOME": str(tmp_path / "state")}


def test_a_chat_outlives_the_server(
    browser: Browser, endpoint: tuple[str, Seen], own_env: dict[str, str], picture: MakePicture
) -> None:
    context = browser.new_context(locale="en-GB")
    with served_page("--backend-url", endpoint[0], env=own_env) as url:
        page = opened(context, url)
        page.ask("What colour?", picture("green"))
        page.send("slow")  # the server ends in the middle of this one
        page.answers.filter(has_text="word3").wait_for()
        place = page.page.url.removeprefix(url)
    with served_page("--backend-url", endpoint[0], env=own_env) as url:
        page = opened(context, url, place)
        page.answers.filter(has_text="word3").wait_for()
        assert page.answers.first.inner_text().strip() == "I see green 320x240 (turn 1)."
        page.page.wait_for_function("() => document.querySelector('.turn img').naturalWidth === 320")
        page.page.locator(".chats").get_by_text("What colour?").wait_for()
        assert page.ask("And now?") == "I see green 320x240 (turn 3)."
        stranger = browser.new_context(locale="en-GB")
        other = opened(stranger, url)
        assert other.page.locator(".chats li").count() == 0
        assert other.page.request.get(f"{url}/api/chats/{place.rpartition('/')[2]}").status == 404
        stranger.close()
    assert all(path.stat().st_mode & 0o077 == 0 for path in files(own_env))
    context.close()


@both_looks
def test_a_reload_keeps_the_place_and_an_answer_under_way(look: Look, open_page: Open, seen: Seen) -> None:
    page = open_page(look)
    page.send("slow")
    page.answers.filter(has_text="word3").wait_for()
    page.reload()
    page.answers.filter(has_text="word9").wait_for()
    assert (len(seen.requests), seen.given_up) == (1, 0)
    page.stop()


def test_deleted_is_deleted(
    browser: Browser, endpoint: tuple[str, Seen], own_env: dict[str, str], picture: MakePicture
) -> None:
    context = browser.new_context(locale="en-GB")
    with served_page("--backend-url", endpoint[0], env=own_env) as url:
        page = opened(context, url)
        page.ask("What colour?", picture("green"))
        assert files(own_env)
        page.page.get_by_label("More about What colour?").click()
        page.page.get_by_role("button", name="Delete", exact=True).click()
        page.page.get_by_role("button", name="Really delete?").click()
        page.page.get_by_text("No chats yet.").wait_for()
        assert gone(own_env)

        page.page.get_by_text("Settings", exact=True).click()
        page.page.get_by_label("Keep chats on this server's disk").click()  # it moves when the server has taken it
        page.page.get_by_text("New chats are forgotten").wait_for()
        page.ask("What colour?", picture("red"))
        assert gone(own_env)
        assert page.reload().answers.first.inner_text().strip() == "I see red 320x240 (turn 1)."
    context.close()


def gone(env: dict[str, str], wait_s: float = 5.0) -> bool:
    """Whether the disk is empty of chats, soon."""
    ends = time.monotonic() + wait_s
    while files(env) and time.monotonic() < ends:
        time.sleep(0.05)
    return not files(env)
