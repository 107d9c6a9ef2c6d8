"""The chat page as a person uses it: one object for every browser test, whatever answers behind the page."""

from __future__ import annotations

import base64
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Locator, Page, Playwright, Request

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_WAIT_S = 30.0


def start_browser(playwright: Playwright) -> Browser:
    """A real Chromium that asks nobody anything by itself."""
    return playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)


@contextmanager
def served_page(*args: str, env: dict[str, str]) -> Iterator[str]:
    """`fitserve page ARGS` as a process of its own; its URL."""
    argv = [sys.executable, "-m", "fitserve", "page", "--port", "0", *args]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, env=env, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield next(word for word in line.split() if word.startswith("http")).removeprefix("聊天页：")
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()  # type: ignore[union-attr]  # a pipe was asked for


def until(condition: Callable[[], bool], what: str, wait_s: float = _WAIT_S) -> None:
    """Wait, or fail with what was waited for. For conditions outside the browser."""
    ends = time.monotonic() + wait_s
    while not condition():
        assert time.monotonic() < ends, f"never came: {what}"
        time.sleep(0.02)


class ChatPage:
    """One tab. `outside`: requests to other servers that the page's policy did not stop; `failures`: script errors."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.outside: list[str] = []
        self.failures: list[str] = []
        page.on("requestfinished", self._watch)
        page.on("requestfailed", lambda request: None if request.failure == "csp" else self._watch(request))
        page.on("pageerror", lambda error: self.failures.append(str(error)))

    def open(self, path: str = "/") -> ChatPage:
        """Load it and wait until it is alive: the header names the model, the box takes text."""
        self.page.goto(self.url + path)
        self.page.locator("#top h1").wait_for()
        self._text.wait_for()
        return self

    def attach(self, *files: Path) -> None:
        """Upload pictures and wait for their thumbnails."""
        before = self.thumbnails.count()
        with self.page.expect_file_chooser() as chooser:
            self.page.locator("#box [data-testid=upload-button]").click()
        chooser.value.set_files([str(file) for file in files])
        self.thumbnails.nth(before + len(files) - 1).wait_for()

    def paste(self, file: Path) -> None:
        """The picture out of the clipboard."""
        self._give(file, "paste", "textarea")

    def drop(self, file: Path) -> None:
        """The picture dragged onto the box."""
        self._give(file, "drop", ".full-container")

    def ask(self, text: str, *files: Path) -> str:
        """Question and whole answer."""
        before = self.asked
        if files:
            self.attach(*files)
        self.send(text)
        return self.answer(before)

    def send(self, text: str) -> None:
        """Type and press Enter; nothing is waited for."""
        self._text.fill(text)
        self._text.press("Enter")

    def answer(self, before: int = 0) -> str:
        """The last answer, once it is whole and belongs to a question after number `before`."""
        self.page.wait_for_function(
            """before => {
                const state = document.querySelector('#notices [data-asked]');
                return state && state.dataset.asked != before && state.dataset.busy === 'false';
            }""",
            arg=str(before),
        )
        return self.answers.last.inner_text().strip()

    @property
    def asked(self) -> int:
        """How many questions this tab has sent since it was opened or cleared."""
        state = self.page.locator("#notices [data-asked]")
        return int(state.get_attribute("data-asked") or 0) if state.count() else 0

    def stop(self) -> None:
        """The stop button."""
        self.page.locator("#box .stop-button").click()

    def clear(self) -> None:
        """A new conversation."""
        self.page.locator("#clear").click()

    def bring_back(self) -> None:
        """Take the earlier conversation back."""
        self.page.locator("#back").click()

    def keep_earlier(self) -> None:
        """Tick «keep the earlier conversation»."""
        self.page.locator("#keep input").check()

    @property
    def questions(self) -> Locator:
        """All bubbles of the reader; a picture is one of its own."""
        return self.page.locator("#chat [data-testid=user]")

    @property
    def answers(self) -> Locator:
        """All bubbles of the model."""
        return self.page.locator("#chat [data-testid=bot]")

    @property
    def thumbnails(self) -> Locator:
        """Pictures in the box, not yet sent."""
        return self.page.locator("#box .thumbnail-item")

    @property
    def notices(self) -> str:
        """What the page says beside the conversation."""
        return self.page.locator("#notices").inner_text()

    @property
    def _text(self) -> Locator:
        return self.page.locator("#box textarea")

    def _watch(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.netloc != urlsplit(self.url).netloc:
            self.outside.append(request.url)

    def _give(self, file: Path, event: str, target: str) -> None:
        """Clipboard and drag carry files the same way: as a DataTransfer of an event."""
        data = base64.b64encode(file.read_bytes()).decode()
        self.page.locator(f"#box {target}").first.evaluate(
            """(element, [data, name, event]) => {
                const bytes = Uint8Array.from(atob(data), c => c.charCodeAt(0));
                const transfer = new DataTransfer();
                transfer.items.add(new File([bytes], name, {type: 'image/png'}));
                const options = {bubbles: true, cancelable: true};
                element.dispatchEvent(event === 'paste'
                    ? new ClipboardEvent('paste', {...options, clipboardData: transfer})
                    : new DragEvent('drop', {...options, dataTransfer: transfer}));
            }""",
            [data, file.name, event],
        )
        self.thumbnails.first.wait_for()
