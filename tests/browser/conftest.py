"""One page server and one stub endpoint for all browser tests, one browser a module; a fresh tab for each test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, ViewportSize, sync_playwright
from tests.browser.deployments import three_pages
from tests.browser.look import DESK, PHONE, Look, both_looks
from tests.browser.page import ChatPage, served_page, start_browser, until
from tests.browser.stub import COLOURS, Seen, stub_endpoint

__all__ = ["DESK", "PHONE", "Look", "MakePicture", "Open", "both_looks"]

Open = Callable[..., ChatPage]
MakePicture = Callable[..., Path]


@pytest.fixture(scope="package")
def page_env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the page leaves nothing behind."""
    home = tmp_path_factory.mktemp("home")
    folders = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("STATE", "CACHE", "DATA", "CONFIG")}
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **folders}


@pytest.fixture(scope="package")
def endpoint() -> Iterator[tuple[str, Seen]]:
    with stub_endpoint(model="demo") as found:
        yield found


@pytest.fixture(scope="package")
def page_url(endpoint: tuple[str, Seen], page_env: dict[str, str]) -> Iterator[str]:
    with served_page("--backend-url", endpoint[0], env=page_env) as url:
        yield url


@pytest.fixture(autouse=True)
def no_script_errors() -> Iterator[None]:
    """No test of the page may leave an error in a tab, whoever opened it."""
    ChatPage.failures.clear()
    yield
    assert ChatPage.failures == []


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = start_browser(playwright)
        yield chromium
        chromium.close()


@pytest.fixture
def seen(endpoint: tuple[str, Seen]) -> Seen:
    """What the endpoint sees from here on; answers of the test before have been given up by then."""
    fresh = endpoint[1]
    until(lambda: fresh.active == 0, "the test before left nothing running")
    fresh.requests.clear()
    fresh.given_up = fresh.pieces_sent = 0
    return fresh


@pytest.fixture(scope="module")
def contexts(browser: Browser) -> Iterator[Callable[[Look], BrowserContext]]:
    """One reader's browser for each look; its tabs share cookies and cache, as real ones do."""
    known: dict[Look, BrowserContext] = {}

    def context(look: Look) -> BrowserContext:
        if look not in known:
            viewport: ViewportSize = {"width": look.width, "height": look.height}
            scheme: Any = look.theme
            known[look] = browser.new_context(locale=look.locale, color_scheme=scheme, viewport=viewport)
            known[look].grant_permissions(["clipboard-read", "clipboard-write"])
        return known[look]

    yield context
    for opened in known.values():
        opened.close()


@pytest.fixture
def open_page(contexts: Callable[[Look], BrowserContext], page_url: str) -> Iterator[Open]:
    """Opens tabs: `open_page(PHONE)`. At the end, none may have asked an outside host."""
    pages: list[ChatPage] = []

    def opening(look: Look = DESK, path: str = "/") -> ChatPage:
        pages.append(ChatPage(contexts(look).new_page(), page_url))
        return pages[-1].open(path)

    yield opening
    for page in pages:
        page.page.close()
    assert [url for page in pages for url in page.outside] == []


@pytest.fixture
def picture(tmp_path: Path) -> Callable[..., Path]:
    """Makes a one-coloured picture: `picture("red", size=(64, 64))`."""

    def make(colour: str, size: tuple[int, int] = (320, 240), name: str = "") -> Path:
        path = tmp_path / (name or f"{colour}.png")
        Image.new("RGB", size, COLOURS[colour]).save(path)
        return path

    return make


@pytest.fixture(scope="package")
def page_urls(
    page_url: str, page_env: dict[str, str], endpoint: tuple[str, Seen], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Pages by name: `demo` (a bare address); of deployments `shop` (answers), `slow` (starts), `broken` (failed)."""
    with three_pages(tmp_path_factory.mktemp("owner"), page_env, endpoint[0]) as urls:
        yield {"demo": page_url, **urls}


@pytest.fixture
def open_tab(contexts: Callable[[Look], BrowserContext], page_urls: dict[str, str]) -> Iterator[Open]:
    """A tab of a reader whom nobody knows, on one of the pages; nothing is loaded yet: `open_tab("slow", look)`."""
    pages: list[ChatPage] = []

    def opening(name: str, look: Look) -> ChatPage:
        context = contexts(look)
        context.clear_cookies()
        pages.append(ChatPage(context.new_page(), page_urls[name]))
        return pages[-1]

    yield opening
    for page in pages:
        page.page.close()
    assert [url for page in pages for url in page.outside] == []
