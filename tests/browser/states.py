"""The page's main states, each brought about as a person meets it: for the accessibility check and for the pictures."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import expect
from tests.browser.look import Look
from tests.browser.page import ChatPage

MakePicture = Callable[..., Path]
Bring = Callable[[ChatPage, MakePicture], None]


@dataclass(frozen=True)
class State:
    """`page`: whose page shows it. `bring` ends when the state can be seen, or fails."""

    name: str
    page: str  # demo (a bare address), shop, slow, broken
    bring: Bring
    path: str = "/"


def _empty(page: ChatPage, _: MakePicture) -> None:
    expect(page.page.locator(".invitation")).to_be_visible()


def _answered(page: ChatPage, picture: MakePicture) -> None:
    page.ask("think, and be rich", picture("green"))
    page.page.locator("details").evaluate_all(
        "all => all.filter(it => it.closest('.turn')).forEach(it => { it.open = true; })"
    )
    expect(page.page.locator(".katex").first).to_be_visible()


def _answering(page: ChatPage, picture: MakePicture) -> None:
    page.attach(picture("green"))
    page.send("slow: What is in this picture?")
    expect(page.answers.first).to_contain_text("word3")
    expect(page.page.locator(".stop")).to_be_visible()


def _shrunk(page: ChatPage, picture: MakePicture) -> None:
    page.attach(picture("blue", size=(2016, 1512)), picture("yellow"))
    expect(page.page.locator(".entry.ready .notice").first).to_contain_text("2016x1512")


def _new_picture(page: ChatPage, picture: MakePicture) -> None:
    page.ask("What colour?", picture("red"))
    page.attach(picture("green"))
    page.send("And this?")
    expect(page.page.locator(".asking button").first).to_be_visible()


def _problem(page: ChatPage, _: MakePicture) -> None:
    page.ask("This is too long.")
    expect(page.page.locator(".problem")).to_be_visible()


def _loading(page: ChatPage, _: MakePicture) -> None:
    expect(page.page.locator(".stages .now")).to_be_visible()


def _failed(page: ChatPage, _: MakePicture) -> None:
    expect(page.page.locator(".finding")).to_contain_text("--max-model-len 174080")


def _owner(page: ChatPage, _: MakePicture) -> None:
    page.page.locator(".deployments button", has_text="shop").click()
    expect(page.page.locator("article table").first).to_contain_text("11.00 GiB")
    expect(page.page.locator("pre.log span").first).to_be_visible()


STATES = (
    State("empty", "demo", _empty),
    State("answering", "demo", _answering),
    State("answered", "demo", _answered),
    State("shrunk", "demo", _shrunk),
    State("new-picture", "demo", _new_picture),
    State("problem", "demo", _problem),
    State("loading", "slow", _loading),
    State("failed", "broken", _failed),
    State("owner", "shop", _owner, "/{language}/#/owner"),
)


def brought(page: ChatPage, state: State, look: Look, picture: MakePicture) -> None:
    """Open the page and bring the state about."""
    path = state.path.format(language=look.language)
    page.page.goto(page.url + path)
    page.page.wait_for_function("() => document.querySelector('.messages, .owner .deployments')")
    state.bring(page, picture)


def pictured(page: ChatPage, state: State, look: Look) -> None:
    """Keep a picture of it, where somebody has asked for them."""
    if folder := os.environ.get("FITSERVE_SCREENS"):
        page.page.screenshot(path=Path(folder) / f"{state.name}-{look}.png")
