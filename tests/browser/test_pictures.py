"""Pictures through the page: every kind is converted or refused in a sentence, and what is sent is what was shown."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from tests.browser.conftest import PHONE, Open
from tests.browser.stub import COLOURS, Seen, pictures

pytestmark = pytest.mark.browser

DATA = Path(__file__).parent.parent / "data" / "pictures"
RED, GREEN, BLUE = COLOURS["red"], COLOURS["green"], COLOURS["blue"]
Put = Callable[[str, bytes], Path]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    def write(name: str, data: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def photo() -> bytes:
    """As a telephone held upright takes it: lying, with a note how to turn it, its maker and place."""
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "camera maker"
    return encoded(Image.new("RGB", (2000, 1500), GREEN), "JPEG", exif=exif)


def animation(kind: str) -> bytes:
    frames = [Image.new("RGB", (60, 40), RED), Image.new("RGB", (60, 40), BLUE)]
    return encoded(frames[0], kind, save_all=True, append_images=frames[1:])


def clear() -> bytes:
    image = Image.new("RGBA", (90, 90), (0, 0, 0, 0))
    image.paste((*RED, 255), (0, 0, 9, 9))
    return encoded(image, "PNG")


def promise(width: int, height: int) -> bytes:
    """A PNG that promises a size and holds hardly anything."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


REFUSED = {
    "empty.png": (b"", "empty.png is empty (0 bytes)."),
    "paper.png": (b"%PDF-1.7\n1 0 obj", "paper.png is a PDF, not a picture."),
    "bomb.png": (promise(60_000, 60_000), "bomb.png unpacks to far more pixels than a picture has"),
    "scan.png": (promise(12_000, 9_000), "scan.png has 12000x9000 pixels; at most 67 million are taken."),
    "letter.docx": (b"PK\x03\x04word/document.xml", "letter.docx is an archive or an office document"),
    "film.jpg": (b"\0\0\0\x18ftypmp42\0\0\0\0", "film.jpg is a video, not a picture."),
    "logo.svg": (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "logo.svg is a drawing (SVG)."),
    "notes.jpg": (b"just some text", "notes.jpg is not a picture that can be read here."),
    "cut.jpg": (encoded(Image.effect_noise((200, 200), 50), "JPEG")[:3000], "cut.jpg is damaged or cut off."),
    "ribbon.png": (promise(50, 20_000), "ribbon.png is a strip of 50x20000"),
}


def test_every_kind_arrives_as_the_model_needs_it(open_page: Open, put: Put, seen: Seen) -> None:
    files = [
        put("photo.jpg", photo()),
        put("dance.gif", animation("GIF")),
        put("dance.webp", animation("WEBP")),
        put("print.jpg", encoded(Image.new("RGB", (50, 70), BLUE).convert("CMYK"), "JPEG")),
        put("clear.png", clear()),
        put("deep.png", encoded(Image.new("I;16", (33, 44), 0), "PNG")),
        DATA / "green.heic",
    ]
    page = open_page()
    page.attach(*files)
    told = "\n".join(page.entries.all_inner_texts())
    for words in (
        "photo.jpg: 1500x2000 -> 768x1024",
        "dance.gif: only the first frame",
        "dance.webp: only the first frame",
        "clear.png: what was transparent lies on white",
        "768x1024, tokens unknown",
    ):
        assert words in told
    assert page.thumbnails.count() == len(files)
    seen_by_model = "green 768x1024, red 60x40, red 60x40, blue 50x70, white 90x90, black 33x44, green 40x30"
    assert page.ask("What do you see?") == f"I see {seen_by_model} (turn 1)."
    sent = pictures(seen.last)
    assert {image.format for image in sent} <= {"PNG", "JPEG"}
    assert not any(image.getexif() or "icc_profile" in image.info for image in sent)


def test_what_is_no_picture_is_refused_in_a_sentence(open_page: Open, put: Put, seen: Seen) -> None:
    page = open_page()
    page.attach(*(put(name, data) for name, (data, _) in REFUSED.items()))
    told = page.entries.all_inner_texts()
    for sentence in (sentence for _, sentence in REFUSED.values()):
        assert any(sentence in text for text in told), sentence
    assert page.thumbnails.count() == 0
    page.send("hello")  # nothing goes without the pictures that the reader meant
    assert page.asked == 0
    assert seen.requests == []
    while page.entries.count():
        page.entries.first.get_by_role("button").click()
    assert page.ask("hello") == "I see no picture (turn 1)."


def test_a_refused_one_stands_beside_the_good(open_page: Open, put: Put, picture: Callable[..., Path]) -> None:
    page = open_page()
    page.attach(picture("red"), put("paper.png", REFUSED["paper.png"][0]), picture("blue", size=(64, 64)))
    assert page.thumbnails.count() == 2
    page.page.locator(".entry.refused").get_by_role("button").click()
    assert page.ask("Both?") == "I see red 320x240, blue 64x64 (turn 1)."


def test_a_shrunk_picture_may_be_sent_as_it_is_and_back(open_page: Open, picture: Callable[..., Path]) -> None:
    page = open_page()
    page.attach(picture("red", size=(2048, 1024)))
    entry = page.entries.first
    assert "red.png: 2048x1024 -> 1024x512" in entry.inner_text()
    entry.get_by_role("button", name="2048x1024").click()
    entry.get_by_text("2048x1024, tokens unknown").wait_for()
    entry.locator("button.link").click()
    entry.get_by_text("1024x512, tokens unknown").wait_for()
    entry.get_by_role("button", name="2048x1024").click()
    entry.get_by_text("2048x1024, tokens unknown").wait_for()
    assert page.ask("How large?") == "I see red 2048x1024 (turn 1)."


def test_refusals_speak_chinese(open_page: Open, put: Put) -> None:
    page = open_page(PHONE)
    page.attach(put("纸.png", REFUSED["paper.png"][0]), put("炸弹.png", REFUSED["bomb.png"][0]))
    told = page.entries.all_inner_texts()
    assert "纸.png 是 PDF，不是图片。请先把页面另存为图片。" in told[0]
    assert "炸弹.png 解压后的像素远超正常图片，没有打开。" in told[1]
