"""axe finds nothing serious or critical in any state, in both languages, light and dark, on a desk and a telephone."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.browser.conftest import MakePicture, Open, both_looks
from tests.browser.look import Look
from tests.browser.page import ChatPage
from tests.browser.states import STATES, State, brought, pictured

pytestmark = pytest.mark.browser

OPTIONS = {
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}


@both_looks
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
def test_nothing_serious(state: State, look: Look, open_tab: Open, picture: MakePicture) -> None:
    page = open_tab(state.page, look)
    brought(page, state, look, picture)
    pictured(page, state, look)
    assert violations(page) == []


def violations(page: ChatPage) -> list[str]:
    """What axe calls serious or critical, with the element and what is wrong with it."""
    return [
        f"{one['impact']} {one['id']}: {one['help']}: {node['html'][:160]} {node['failureSummary']}"
        for one in Axe().run(page.page, options=OPTIONS).response["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def test_axe_is_awake(open_tab: Open, picture: MakePicture) -> None:
    page = open_tab("demo", Look())
    brought(page, STATES[0], Look(), picture)
    page.page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert [one.split(":")[0] for one in violations(page)] == ["critical button-name"]


def test_less_motion_for_those_who_ask_for_it(open_tab: Open, picture: MakePicture) -> None:
    page = open_tab("demo", Look())
    page.page.emulate_media(reduced_motion="reduce")
    brought(page, STATES[0], Look(), picture)
    page.send("hold")
    page.page.locator(".dots").first.wait_for()
    moving = "() => document.getAnimations().filter(it => it.playState === 'running').length"
    assert page.page.evaluate(moving) == 0
    page.page.emulate_media(reduced_motion="no-preference")
    assert page.page.evaluate(moving) > 0
    page.stop()
