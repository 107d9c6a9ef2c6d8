"""Expectation 20: a large picture is shrunk on the way, and that is said, with its cost and the way around it."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from tests.browser.conftest import Look, MakePicture, Open, both_looks
from tests.browser.stub import COLOURS, Seen, pictures

pytestmark = pytest.mark.browser

AS_IT_IS = {"en": ("send as it is", "shrink it after all"), "zh": ("按原图发送", "还是缩小后发送")}


@both_looks
def test_shrunk_with_a_notice_and_sent_whole_on_request(
    look: Look, open_page: Open, picture: MakePicture, seen: Seen
) -> None:
    as_it_is, shrink = AS_IT_IS[look.language]
    page = open_page(look)
    page.attach(picture("red", size=(2016, 1512)))
    entry = page.page.locator(".entry.ready")
    assert entry.locator(".cost").inner_text().startswith("1024x768")
    assert "2016x1512 → 1024x768" in entry.locator(".notice").inner_text().replace("->", "→")
    entry.get_by_role("button", name=as_it_is).click()
    page.page.wait_for_function("() => document.querySelector('.entry.ready .cost')?.innerText.startsWith('2016x1512')")
    entry.get_by_role("button", name=shrink).click()
    page.page.wait_for_function("() => document.querySelector('.entry.ready .cost')?.innerText.startsWith('1024x768')")
    assert page.ask("What colour?") == "I see red 1024x768 (turn 1)."
    assert "1024x768" in page.notices
    page.attach(picture("blue", size=(2016, 1512)))
    entry.get_by_role("button", name=as_it_is).click()
    page.page.wait_for_function("() => document.querySelector('.entry.ready .cost')?.innerText.startsWith('2016x1512')")
    page.clear()
    page.attach(picture("green", size=(2016, 1512)))
    entry.get_by_role("button", name=as_it_is).click()
    page.page.wait_for_function("() => document.querySelector('.entry.ready .cost')?.innerText.startsWith('2016x1512')")
    assert page.ask("What colour?") == "I see green 2016x1512 (turn 1)."


def test_a_small_picture_is_left_alone(open_page: Open, picture: MakePicture) -> None:
    page = open_page()
    page.attach(picture("red"))
    entry = page.page.locator(".entry.ready")
    assert entry.locator(".cost").inner_text().startswith("320x240")
    assert (entry.locator(".notice").count(), entry.locator(".link").count()) == (0, 0)


def test_a_turned_photograph_stands_upright_and_says_nothing_of_where_it_was_taken(
    open_page: Open, tmp_path: Path, seen: Seen
) -> None:
    image = Image.new("RGB", (3000, 1500), COLOURS["green"])
    exif = image.getexif()
    exif[0x0112] = 6  # held upright
    exif[0x010F] = "a maker's name"
    path = tmp_path / "photo.jpg"
    image.save(path, exif=exif)
    page = open_page()
    assert page.ask("What colour?", path) == "I see green 512x1024 (turn 1)."
    sent = pictures(seen.last)[0]
    assert dict(sent.getexif()) == {}
