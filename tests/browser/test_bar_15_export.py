"""Expectation 15: a chat is taken along as Markdown and as JSON, with its pictures."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.browser.conftest import Look, MakePicture, Open, both_looks
from tests.browser.page import ChatPage
from tests.browser.stub import colour

pytestmark = pytest.mark.browser

WORDS = {
    "en": ("Chats", "Save as Markdown", "Save as JSON", "Save with pictures (ZIP)"),
    "zh": ("历史对话", "存为 Markdown", "存为 JSON", "连同图片一起保存（ZIP）"),
}


def saved(page: ChatPage, name: str, folder: Path) -> Path:
    """Click a download, and where it has been saved."""
    with page.page.expect_download() as download:
        page.page.get_by_text(name, exact=True).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


@both_looks
def test_all_three_kinds(look: Look, open_page: Open, picture: MakePicture, tmp_path: Path) -> None:
    chats, markdown, as_json, as_zip = WORDS[look.language]
    page = open_page(look)
    page.ask("What colour? <b>bold</b>", picture("green"))
    page.ask("rich")
    if look.width < 800:
        page.page.get_by_role("button", name=chats).click()
    page.page.locator(".chats .more summary").first.click()

    text = saved(page, markdown, tmp_path).read_text(encoding="utf-8")
    assert "What colour?" in text
    assert "I see green 320x240 (turn 1)." in text
    assert "\\frac{1}{3}" in text

    table: Any = json.loads(saved(page, as_json, tmp_path).read_text(encoding="utf-8"))
    assert "I see green 320x240" in json.dumps(table)
    urls = [value for value in strings(table) if value.startswith("data:image/")]
    assert colour(Image.open(io.BytesIO(base64.b64decode(urls[0].split(",", 1)[1])))) == "green"

    with zipfile.ZipFile(saved(page, as_zip, tmp_path)) as archive:
        names = archive.namelist()
        assert all(not name.startswith(("/", "..")) and ".." not in name.split("/") for name in names)
        shown = next(name for name in names if name.endswith((".png", ".jpg")))
        assert colour(Image.open(io.BytesIO(archive.read(shown)))) == "green"
        assert any(name.endswith(".md") for name in names)


def strings(value: object) -> list[str]:
    """Every text in a document."""
    if isinstance(value, dict):
        return [text for one in value.values() for text in strings(one)]
    if isinstance(value, list):
        return [text for one in value for text in strings(one)]
    return [value] if isinstance(value, str) else []
