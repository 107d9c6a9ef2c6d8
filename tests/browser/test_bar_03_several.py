"""Expectation 3: several pictures with thumbnails, each with its cost, and any of them can be taken out."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.browser.conftest import Look, MakePicture, Open, both_looks
from tests.browser.stub import Seen

pytestmark = pytest.mark.browser
REMOVE = {"en": "Remove {}", "zh": "移除 {}"}


@both_looks
def test_several_pictures_one_removed(look: Look, open_page: Open, picture: MakePicture, seen: Seen) -> None:
    page = open_page(look)
    page.attach(picture("green"), picture("blue"), picture("yellow"))
    assert page.thumbnails.count() == 3
    assert page.page.locator(".entry .cost").all_inner_texts()[0].startswith("320x240")
    page.page.get_by_role("button", name=REMOVE[look.language].format("blue.png")).click()
    assert page.thumbnails.count() == 2
    assert page.ask("Compare.") == "I see green 320x240, yellow 320x240 (turn 1)."
    assert page.page.locator(".turn .pictures img").count() == 2
    assert page.page.evaluate("document.documentElement.scrollWidth") <= look.width


def test_pictures_are_added_one_after_the_other(open_page: Open, picture: MakePicture) -> None:
    page = open_page()
    page.attach(picture("red"))
    page.paste(picture("green"))
    page.drop(picture("blue"))
    assert page.ask("Compare.") == "I see red 320x240, green 320x240, blue 320x240 (turn 1)."


def test_the_tray_survives_a_reload(open_page: Open, picture: MakePicture) -> None:
    page = open_page()
    page.attach(picture("red"))
    page.box.fill("What colour?")
    page.reload()
    page.thumbnails.first.wait_for()
    assert page.box.input_value() == "What colour?"
    page.box.press("Enter")
    assert page.answer() == "I see red 320x240 (turn 1)."


def test_a_refused_file_stands_in_the_way_until_it_is_taken_out(
    open_page: Open, picture: MakePicture, tmp_path: Path, seen: Seen
) -> None:
    path = tmp_path / "paper.png"
    path.write_bytes(b"%PDF-1.7 not a picture")
    page = open_page()
    page.attach(picture("red"), path)
    page.page.get_by_text("paper.png is a PDF").wait_for()
    page.send("What is it?")
    page.page.wait_for_timeout(200)
    assert (page.box.input_value(), seen.requests) == ("What is it?", [])
    page.page.get_by_role("button", name="Remove paper.png").click()
    page.box.press("Enter")
    assert page.answer() == "I see red 320x240 (turn 1)."


def test_a_script_in_a_file_name_stays_a_name(open_page: Open, picture: MakePicture) -> None:
    page = open_page()
    name = "<img src=x onerror=document.title='taken'>.png"
    page.ask("What?", picture("red", name=name))
    assert page.page.locator(".turn img").get_attribute("alt") == name
    assert page.page.title() == "fitserve"
