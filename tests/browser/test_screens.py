"""The fullest states in the two looks that `test_axe.py` leaves out: Chinese on a desk, English on a telephone.

`FITSERVE_SCREENS=DIR pytest -m browser tests/browser/test_screens.py tests/browser/test_axe.py` keeps their pictures.
"""

from __future__ import annotations

import pytest
from tests.browser.conftest import MakePicture, Open
from tests.browser.look import Look
from tests.browser.states import STATES, State, brought, pictured

pytestmark = pytest.mark.browser

FULL = ("answered", "failed", "owner")


@pytest.mark.parametrize("look", [Look("zh-CN"), Look("en-GB", "dark", 390, 844)], ids=str)
@pytest.mark.parametrize("state", [one for one in STATES if one.name in FULL], ids=lambda state: state.name)
def test_a_state(state: State, look: Look, open_tab: Open, picture: MakePicture) -> None:
    page = open_tab(state.page, look)
    brought(page, state, look, picture)
    pictured(page, state, look)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= look.width
    assert "undefined" not in page.page.inner_text("body")
