"""The chat page in a real Chromium before the stub engine: first paint, first token, eight chats at once, a closed tab.

    python benchmarks/page.py

The stub writes the millisecond of its sending into each token, the page's tab notes when it stands in the document: the
lateness holds everything between, the page's server included. The tab also notes when news comes: what a pause of the
news is longer than the page's own 50 ms is the server's or Chromium's, what a pause of growth is longer than that is
the page's drawing.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from tests.browser.page import ChatPage, served_page, start_browser, until
from tests.browser.stub import Seen, stub_endpoint

from fitserve.measure.statistics import quantile

VIEWS, QUESTIONS, CLOSED, CHATS = 12, 20, 6, 8
WATCH = """
window.shown = [];
window.news = [];
window.WebSocket = class extends WebSocket {
    constructor(...told) {
        super(...told);
        this.addEventListener('message', ({data}) => {
            if (data.startsWith('{"event":"answer"')) window.news.push(Date.now());
        });
    }
};
new MutationObserver(() => {
    const answer = document.querySelector('.turn:last-child .answer');
    const last = answer?.textContent.match(/\\d{13}(?=\\D*$)/)?.[0];
    if (last && window.shown.at(-1)?.[1] !== last) window.shown.push([Date.now(), last]);
}).observe(document, {childList: true, subtree: true, characterData: true});
"""


@contextmanager
def served() -> Iterator[tuple[str, Seen]]:
    with stub_endpoint(model="stub") as (base, seen), tempfile.TemporaryDirectory() as home:
        folders = {f"XDG_{name}_HOME": f"{home}/{name}" for name in ("STATE", "CACHE", "DATA", "CONFIG")}
        env = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", **folders}
        with served_page("--backend-url", base, env=env) as url:
            yield url, seen


def watched(context: BrowserContext, url: str) -> ChatPage:
    tab = context.new_page()
    tab.add_init_script(WATCH)
    return ChatPage(tab, url).open()


def shown(page: Page) -> list[tuple[float, float]]:
    """(milliseconds when a token stood in the document, milliseconds of its sending), in order."""
    return [(float(at), float(stamp)) for at, stamp in page.evaluate("window.shown")]


def paints(browser: Browser, url: str) -> list[float]:
    found = []
    for _ in range(VIEWS):
        context = browser.new_context()
        page = ChatPage(context.new_page(), url).open()
        script = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        found.append(float(page.page.evaluate(script)))
        context.close()
    return found


def first_tokens(browser: Browser, url: str) -> list[float]:
    page, found = watched(browser.new_context(), url), []
    for _ in range(QUESTIONS):
        page.page.evaluate("window.shown = []")
        page.send("stamps")
        page.page.wait_for_function("() => window.shown.length > 3")
        page.stop()
        at = shown(page.page)[0][0]
        first = re.findall(r"\d{13}", page.answer())[0]
        found.append(at - float(first))
        page.page.keyboard.press("Alt+n")
    page.page.context.close()
    return found


def longest_pause(moments: Sequence[float]) -> float:
    return max(after - before for before, after in pairwise(moments))


def eight_chats(browser: Browser, url: str, seen: Seen) -> tuple[list[float], list[float], list[float]]:
    """(lateness of every token shown, each chat's longest pause between two sights of growth, and between two news)."""
    context = browser.new_context()
    pages = [watched(context, url) for _ in range(CHATS)]
    for page in pages:
        page.send("stamps")
    until(lambda: seen.active == CHATS, "all are answered at once")
    for page in pages:
        page.answer()
    told = [shown(page.page) for page in pages]
    news = [longest_pause(page.page.evaluate("window.news")) for page in pages]
    context.close()
    late = [at - stamp for one in told for at, stamp in one]
    return late, [longest_pause([at for at, _ in one]) for one in told], news


def closed_tabs(browser: Browser, url: str, seen: Seen) -> list[float]:
    context, found = browser.new_context(), []
    for number in range(CLOSED):
        page = ChatPage(context.new_page(), url).open()
        page.send("hold" if number % 2 else "slow")
        until(lambda: seen.active == 1, "the question arrived")
        begun = time.monotonic()
        page.page.close()
        until(lambda: seen.active == 0, "the engine noticed")
        found.append((time.monotonic() - begun) * 1000)
    context.close()
    return found


def row(name: str, values: list[float], bound: str) -> None:
    low, half, high = (quantile(values, share) for share in (0.0, 0.5, 1.0))
    print(f"{name:<46} {low:7.0f} {half:7.0f} {high:7.0f}   {bound}")


def main() -> None:
    print(f"{'milliseconds':<46} {'least':>7} {'median':>7} {'most':>7}   load {os.getloadavg()[0]:.1f}")
    with served() as (url, seen), sync_playwright() as playwright:
        browser = start_browser(playwright)
        row("first paint with content, fresh browser", paints(browser, url), "2000")
        row("first token, sent to shown", first_tokens(browser, url), "100 at the median")
        late, stalls, news = eight_chats(browser, url, seen)
        row(f"{CHATS} chats, token sent to shown ({len(late)} tokens)", late, "")
        row(f"{CHATS} chats, longest pause of each", stalls, "500")
        row(f"{CHATS} chats, longest pause of its news", news, "")
        row("closed tab to freed slot", closed_tabs(browser, url, seen), "1000")
        browser.close()


if __name__ == "__main__":
    main()
