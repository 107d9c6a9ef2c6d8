"""The chat page as a person uses it: one object for every browser test, whatever answers behind the page."""

from __future__ import annotations

import base64
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Locator, Page, Playwright, Request, expect

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
expect.set_options(timeout=_WAIT_S * 1000)  # as everything else here: five seconds are few on a busy machine


def start_browser(playwright: Playwright) -> Browser:
    """A real Chromium that asks nobody anything by itself."""
    return playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)


@contextmanager
def served_page(
    *args: str, env: dict[str, str], program: tuple[str, ...] = (sys.executable, "-m", "fitserve")
) -> Iterator[str]:
    """`fitserve page ARGS` as a process of its own; its URL."""
    argv = [*program, "page", "--port", "0", *args]
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
    """One tab. `outside`: requests to other servers that the page's policy did not stop.

    `failures`: script errors, of every tab of every test: none may end with one.
    """

    failures: ClassVar[list[str]] = []

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.outside: list[str] = []
        self._before = ""  # the chat and its version when the last question was sent
        page.on("requestfinished", self._watch)
        page.on("requestfailed", lambda request: None if request.failure == "csp" else self._watch(request))
        page.on("pageerror", lambda error: self.failures.append(str(error)))

    def open(self, path: str = "/") -> ChatPage:
        """Load it and wait until it is alive: the box takes text, and news comes."""
        self.page.goto(self.url + path)
        return self.alive()

    def reload(self) -> ChatPage:
        """The same place again."""
        self.page.reload()
        return self.alive()

    def alive(self) -> ChatPage:
        """Wait until the page can be used."""
        self.box.wait_for()
        self.page.wait_for_function("() => document.querySelector('.messages, .owner')", polling=50)
        return self

    def attach(self, *files: Path) -> None:
        """Choose picture files and wait until each is prepared or refused."""
        before = self.entries.count()
        self.page.locator("#files").set_input_files([str(file) for file in files])
        self.entries.nth(before + len(files) - 1).wait_for()
        self.page.locator(".entry.coming").first.wait_for(state="detached")

    def paste(self, file: Path) -> None:
        """The picture out of the clipboard."""
        self._give(file, "paste", "#question")

    def drop(self, file: Path, target: str = ".messages") -> None:
        """The picture dragged onto the page."""
        self._give(file, "drop", target)

    def ask(self, text: str, *files: Path) -> str:
        """Question and whole answer."""
        if files:
            self.attach(*files)
        self.send(text)
        return self.answer()

    def send(self, text: str) -> None:
        """Type and press Enter; nothing is waited for."""
        self._mark()
        self.box.fill(text)
        self.box.press("Enter")

    def answer(self, _before: int = 0) -> str:
        """The last answer (or the failure in its place), once the last question that was sent has a whole one."""
        self.page.wait_for_function(
            """before => {
                const {answering, turns, state} = document.querySelector('.messages').dataset;
                return answering === 'false' && turns !== '0' && state !== before;
            }""",
            arg=self._before,
            polling=50,  # not by frames: a tab in the background draws none
        )
        return self.last_reply

    @property
    def last_reply(self) -> str:
        """What stands under the last question: the answer, else the problem."""
        reply = self.page.locator(".turn").last.locator(".reply")
        answer = reply.locator(".answer")
        return (answer if answer.count() else reply).inner_text().strip()

    @property
    def asked(self) -> int:
        """How many questions this chat shows."""
        return int(self.page.locator(".messages").get_attribute("data-turns") or 0)

    def press(self, name: str) -> None:
        """A button that asks for another answer."""
        self._mark()
        self.page.get_by_role("button", name=name).click()

    def new_topic(self) -> None:
        """What the page asks at a new picture: what came before is not sent with it."""
        self.page.locator(".asking button").first.click()

    def shows(self, text: str) -> None:
        """Wait until it stands in the conversation."""
        self.page.locator(".messages").get_by_text(text).first.wait_for()

    def stop(self) -> None:
        """The stop button."""
        self.page.locator(".stop").click()

    def clear(self) -> None:
        """Nothing above is sent any more."""
        self.page.locator(".box .clear").click()

    @property
    def box(self) -> Locator:
        """Where questions are written."""
        return self.page.locator("#question")

    @property
    def questions(self) -> Locator:
        """The reader's questions."""
        return self.page.locator(".question .said")

    @property
    def answers(self) -> Locator:
        """The model's answers."""
        return self.page.locator(".answer")

    @property
    def entries(self) -> Locator:
        """What is in the tray: pictures, those still being prepared, and refusals."""
        return self.page.locator(".tray .entry")

    @property
    def thumbnails(self) -> Locator:
        """Pictures that are ready to go with the next question."""
        return self.page.locator(".tray .entry.ready img")

    @property
    def notices(self) -> str:
        """What the page says about the last turn: its pictures' costs, its figures, how it ended."""
        said = self.page.locator(".turn").last.locator("figcaption, .notice, .figures")
        return "\n".join(said.all_inner_texts())

    def _mark(self) -> None:
        """What `answer` waits for is newer than this."""
        self._before = self.page.locator(".messages").get_attribute("data-state") or ""

    def _watch(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.netloc != urlsplit(self.url).netloc:
            self.outside.append(request.url)

    def _give(self, file: Path, event: str, target: str) -> None:
        """Clipboard and drag carry files the same way: as a DataTransfer of an event."""
        before = self.entries.count()
        data = base64.b64encode(file.read_bytes()).decode()
        self.page.locator(target).first.evaluate(
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
        self.entries.nth(before).wait_for()
        self.page.locator(".entry.coming").first.wait_for(state="detached")
