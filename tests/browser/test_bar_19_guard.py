"""Expectation 19: what is no picture, or too much of one, is refused in a sentence; neither page nor engine suffer."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from tests.browser.conftest import DESK, PHONE, Look, MakePicture, Open
from tests.browser.stub import Seen

pytestmark = pytest.mark.browser


def bomb(path: Path) -> None:
    """A PNG of 200 bytes that says it is 60,000 pixels a side."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 10_000)) + chunk(b"IEND", b""))


def photograph(path: Path) -> None:
    """100 megapixels, honestly."""
    Image.new("L", (11_600, 8_700), 128).save(path, quality=10)


def sparse(path: Path) -> None:
    """80 MB that are not there."""
    with path.open("wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        file.truncate(80 * 2**20)


MADE: dict[str, Callable[[Path], object]] = {
    "empty.png": lambda path: path.write_bytes(b""),
    "paper.png": lambda path: path.write_bytes(b"%PDF-1.7\n1 0 obj"),
    "page.jpg": lambda path: path.write_bytes(b"<!doctype html><script>alert(1)</script>"),
    "drawing.png": lambda path: path.write_bytes(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
    "half.png": lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 40),
    "bomb.png": bomb,
    "photo.jpg": photograph,
    "large.png": sparse,
}


@pytest.mark.parametrize("look", [DESK, PHONE], ids=str)
def test_each_is_refused_in_a_sentence_and_the_page_goes_on(
    look: Look, open_page: Open, picture: MakePicture, tmp_path: Path, seen: Seen
) -> None:
    page = open_page(look)
    names = list(MADE) if look is DESK else ["empty.png", "paper.png"]
    for name in names:
        MADE[name](tmp_path / name)
        page.attach(tmp_path / name)
    refused = page.page.locator(".entry.refused")
    assert refused.count() == len(names)
    told = dict(zip(names, refused.all_inner_texts(), strict=True))
    for name, text in told.items():
        assert len(text.splitlines()[0]) > 15, name
        assert not any(word in text for word in ("Traceback", "Error", "HTTP", "PIL")), text
    assert "PDF" in told["paper.png"]
    assert len(set(told.values())) >= len(names) - 1
    while refused.count():
        refused.first.get_by_role("button").click()
    assert seen.requests == []
    assert page.ask("What colour?", picture("green")) == "I see green 320x240 (turn 1)."
