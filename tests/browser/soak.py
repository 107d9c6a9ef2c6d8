"""The page under use for an hour: tabs that ask, stop, clear, start anew, reload and close, while memory is watched.

The server's memory is its proportional set (`smaps_rollup`), a tab's is its script heap after a collection. Growth is
told as the median of the last quarter over that of the second: what is built up in the first is no growth.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

import click
from PIL import Image
from playwright.sync_api import BrowserContext, Page, sync_playwright
from tests.browser.page import ChatPage, start_browser
from tests.browser.stub import COLOURS, stub_endpoint

from fitserve.run.processes import memory_bytes
from fitserve.units import MIB

TABS = 8
CHATS_KEPT = 30  # a reader deletes what lies behind: the disk is not what is asked about
SAMPLE_S = 10.0


@dataclass
class Seen:
    """What was done, and how large everything was meanwhile. Bytes."""

    started: float
    seconds: float = 0.0
    done: dict[str, int] = field(default_factory=dict)
    server: list[int] = field(default_factory=list)
    heap: list[int] = field(default_factory=list)
    files_open: list[int] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def count(self, action: str) -> None:
        self.done[action] = self.done.get(action, 0) + 1


def growth(samples: Sequence[int]) -> float | None:
    """Last quarter over second quarter, as a share: 0.02 is 2 %. None where there are too few."""
    quarter = len(samples) // 4
    if quarter < 3:
        return None
    return median(samples[-quarter:]) / median(samples[quarter : 2 * quarter]) - 1


@contextmanager
def server(home: Path, backend: str) -> Iterator[tuple[str, int]]:
    """The page's server; its URL and pid."""
    env = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("STATE", "CACHE", "DATA", "CONFIG")}
    env |= {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    argv = [sys.executable, "-m", "fitserve", "page", "--port", "0", "--backend-url", backend]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True)
    try:
        assert process.stdout
        yield next(word for word in process.stdout.readline().split() if word.startswith("http")), process.pid
    finally:
        process.terminate()
        process.wait(20)


class User:
    """One tab and what its reader does next."""

    def __init__(self, context: BrowserContext, url: str, pictures: Sequence[Path], seen: Seen, number: int) -> None:
        self._context, self._url, self._pictures, self._seen = context, url, pictures, seen
        self._dice = random.Random(number)
        self._asked = 0
        self.page = self._opened()

    def act(self) -> None:
        """One thing; nothing is waited for that is not the page's own."""
        actions = (self.ask, self.ask, self.ask, self.look, self.stop, self.clear, self.anew, self.reload, self.close)
        action = self._dice.choice(actions)
        try:
            action()
            self._seen.count(action.__name__)
        except Exception as error:  # noqa: BLE001 - counted and told, and the soak goes on
            self._seen.failures.append(f"{action.__name__}: {str(error).splitlines()[0][:200]}")
            self.close()

    def ask(self) -> None:
        files = [self._dice.choice(self._pictures)] if self._dice.random() < 0.4 else []
        self.page.ask(self._dice.choice(["What colour?", "rich", "think about it", "differ"]), *files)
        self._asked += 1
        if self._asked % CHATS_KEPT == 0:
            self.page.page.evaluate("() => fetch('/api/chats', {method: 'DELETE'})")
            self.reload()

    def look(self) -> None:
        self.page.page.goto(self._url + "/en/#/owner")
        self.page.page.locator(".owner").wait_for()
        self.page.page.goto(self._url + "/en/#/")
        self.page.alive()

    def stop(self) -> None:
        self.page.send("slow")
        self.page.page.locator(".stop").click()
        self.page.answer()

    def clear(self) -> None:
        self.page.page.keyboard.press("Alt+KeyC")

    def anew(self) -> None:
        self.page.page.keyboard.press("Alt+KeyN")

    def reload(self) -> None:
        self.page.reload()

    def close(self) -> None:
        self.page.page.close()
        self.page = self._opened()

    def _opened(self) -> ChatPage:
        page = ChatPage(self._context.new_page(), self._url).open("/en/")
        page.page.evaluate(
            """() => fetch('/api/settings', {method: 'PUT', headers: {'content-type': 'application/json'},
                body: JSON.stringify({new_picture: 'start_over'})})"""
        )
        return page.reload()


def heap(page: Page) -> int:
    """A tab's script heap, after a collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used = int(session.send("Runtime.getHeapUsage")["usedSize"])
    session.detach()
    return used


def soak(minutes: float, folder: Path) -> Seen:
    seen = Seen(time.time())
    pictures = []
    for colour, value in COLOURS.items():
        path = folder / f"{colour}.png"
        Image.new("RGB", (1600, 1200), value).save(path)
        pictures.append(path)
    ends, due = time.monotonic() + 60 * minutes, 0.0
    with (
        stub_endpoint(model="demo") as (backend, asked),
        server(folder, backend) as (url, pid),
        sync_playwright() as play,
    ):
        browser = start_browser(play)
        users = [User(browser.new_context(locale="en-GB"), url, pictures, seen, number) for number in range(TABS)]
        steady = ChatPage(browser.new_context(locale="en-GB").new_page(), url).open("/en/")  # never reloaded
        while time.monotonic() < ends:
            for user in users:
                user.act()
            steady.ask("differ")
            asked.requests.clear()
            if time.monotonic() >= due:
                due = time.monotonic() + SAMPLE_S
                seen.server.append(memory_bytes(pid) or 0)
                seen.heap.append(heap(steady.page))
                seen.files_open.append(len(list(Path(f"/proc/{pid}/fd").iterdir())))
                if len(seen.heap) % 6 == 0:
                    steady.page.keyboard.press("Alt+KeyN")
        browser.close()
    seen.seconds = time.time() - seen.started
    seen.failures += ChatPage.failures
    return seen


def ends_of(samples: Sequence[int]) -> tuple[int, int, int]:
    """First, last, most."""
    return samples[0], samples[-1], max(samples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--to", type=Path, help="where the JSON goes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        seen = soak(options.minutes, Path(folder))
    told = asdict(seen) | {"growth": {name: growth(getattr(seen, name)) for name in ("server", "heap", "files_open")}}
    if options.to:
        options.to.write_text(json.dumps(told) + "\n")
    click.echo(f"{seen.seconds / 60:.1f} minutes, {TABS} tabs: {seen.done}, {len(seen.failures)} failures")
    for name, unit in (("server", MIB), ("heap", MIB), ("files_open", 1)):
        first, last, most = (round(value / unit, 1) for value in ends_of(getattr(seen, name)))
        grown = told["growth"][name]
        rate = "unknown" if grown is None else f"{grown:+.1%}"
        click.echo(f"{name}: first {first}, last {last}, most {most}; growth {rate}")
    for failure in seen.failures[:10]:
        click.echo(failure)


if __name__ == "__main__":
    main()
