"""Pictures as people send them: turned, large, animated, transparent, broken, or no pictures at all."""

from __future__ import annotations

import base64
import io
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fitserve.chat.decode import Intake
from fitserve.chat.images import Limits, Picture, prepare_picture, read_picture
from fitserve.chat.said import PictureRefused
from fitserve.errors import NotFound, SettingsError

RED, BLUE = (220, 40, 40), (40, 80, 220)


def encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def sent(picture: Picture) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(picture.data_url.split(",", 1)[1])))


def near(pixel: object, colour: tuple[int, int, int]) -> bool:
    assert isinstance(pixel, tuple)
    return all(abs(x - y) < 12 for x, y in zip(pixel, colour, strict=True))


def png_header(width: int, height: int) -> bytes:
    """A PNG that promises a size and holds hardly anything."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


def jpeg_header(width: int, height: int) -> bytes:
    """A small JPEG that says it is large."""
    data = encoded(Image.new("RGB", (16, 16), RED), "JPEG")
    at = data.index(b"\xff\xc0") + 5
    return data[:at] + struct.pack(">HH", height, width) + data[at + 4 :]


def test_a_small_png_goes_as_it_is() -> None:
    picture = prepare_picture(encoded(Image.new("RGB", (64, 48), RED)), "a.png")
    assert (picture.width, picture.height, picture.notices) == (64, 48, ())
    assert picture.data_url.startswith("data:image/png;base64,")
    assert sent(picture).getpixel((5, 5)) == RED


def test_a_photo_is_turned_shrunk_and_stripped() -> None:
    photo = Image.new("RGB", (3024, 4032), RED)
    photo.paste(BLUE, (0, 0, 3024, 2016))  # blue above, as the sensor saw it
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held upright: turn it clockwise
    exif[0x010F] = "camera maker"
    picture = prepare_picture(encoded(photo, "JPEG", exif=exif), "IMG_1.jpg")
    assert [notice.text("en") for notice in picture.notices] == ["IMG_1.jpg: 4032x3024 -> 1024x768"]
    assert (picture.original_width, picture.original_height) == (4032, 3024)
    image = sent(picture)
    assert image.size == (1024, 768)
    assert near(image.getpixel((1000, 384)), BLUE)
    assert near(image.getpixel((20, 384)), RED)
    assert not image.getexif()
    assert b"camera maker" not in base64.b64decode(picture.data_url.split(",")[1])


@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_orientation_ends_upright(orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture = prepare_picture(encoded(Image.new("RGB", (40, 20), RED), "JPEG", exif=exif), "x.jpg")
    assert (picture.width, picture.height) == ((20, 40) if orientation >= 5 else (40, 20))


def test_a_turned_png_is_upright_too() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    picture = prepare_picture(encoded(Image.new("RGB", (40, 20), RED), "PNG", exif=exif), "x.png")
    assert (picture.width, picture.height, sent(picture).size) == (20, 40, (20, 40))


def test_own_size_is_sent_where_no_limit_is_set() -> None:
    data = encoded(Image.new("RGB", (1500, 900), RED), "JPEG")
    picture = prepare_picture(data, "a.jpg", Limits(longest_side=None))
    assert (picture.width, picture.height, picture.notices) == (1500, 900, ())


def test_transparency_lies_on_white_and_is_said() -> None:
    image = Image.new("RGBA", (20, 20), (0, 0, 0, 0))
    image.paste((*RED, 255), (0, 0, 10, 20))
    prepared = prepare_picture(encoded(image), "a.png")
    assert [notice.key for notice in prepared.notices] == ["chat.on_white"]
    picture = sent(prepared)
    assert picture.mode == "RGB"
    assert picture.getpixel((2, 2)) == RED
    assert picture.getpixel((15, 2)) == (255, 255, 255)


def test_a_transparent_palette_lies_on_white() -> None:
    image = Image.new("P", (8, 8), 0)
    image.putpalette([0, 0, 0, *RED])
    picture = sent(prepare_picture(encoded(image, "PNG", transparency=0), "p.png"))
    assert picture.getpixel((1, 1)) == (255, 255, 255)


def test_cmyk_becomes_rgb() -> None:
    image = sent(prepare_picture(encoded(Image.new("RGB", (32, 32), RED).convert("CMYK"), "JPEG"), "c.jpg"))
    assert image.mode == "RGB"
    assert near(image.getpixel((9, 9)), RED)


def test_sixteen_bit_grey_keeps_its_tone() -> None:
    image = Image.new("I;16", (16, 16), 32768)
    pixel = sent(prepare_picture(encoded(image), "g.png")).getpixel((3, 3))
    assert near(pixel, (128, 128, 128))


def test_the_first_frame_of_an_animation_is_sent_and_said() -> None:
    frames = [Image.new("RGB", (30, 30), RED), Image.new("RGB", (30, 30), BLUE)]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    picture = prepare_picture(data, "a.gif")
    assert [notice.key for notice in picture.notices] == ["chat.first_frame"]
    assert near(sent(picture).getpixel((3, 3)), RED)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "L", "1", "CMYK", "I;16", "RGB"])
def test_large_pictures_of_every_kind_are_reduced_in_strips(mode: str) -> None:
    """2048 rows are several strips: what stands below must come out below."""
    image = Image.new("L", (600, 2048), 255)
    image.paste(0, (0, 1024, 600, 2048))
    image = (
        image.convert("I").point(lambda value: value * 257).convert("I;16") if mode == "I;16" else image.convert(mode)
    )
    picture = sent(prepare_picture(encoded(image, "TIFF"), "a.tif", Limits(longest_side=128)))
    assert picture.size == (38, 128)
    assert near(picture.getpixel((9, 20)), (255, 255, 255))
    assert near(picture.getpixel((9, 100)), (0, 0, 0))


def heic(name: str) -> Picture:
    """Written by pillow-heif 1.8.1 from a drawn picture: blue above, red below."""
    return read_picture(Path(__file__).parent.parent / "data" / "pictures" / name, Limits(longest_side=200))


def test_a_telephones_heic_is_upright_and_stripped() -> None:
    picture = heic("turned.heic")
    assert (picture.width, picture.height, picture.original_width, picture.original_height) == (150, 200, 300, 400)
    assert near(sent(picture).getpixel((140, 100)), BLUE)
    assert near(sent(picture).getpixel((10, 100)), RED)
    assert b"camera maker" not in picture.data


def test_other_heics() -> None:
    clear = heic("clear.heic")
    assert [notice.key for notice in clear.notices] == ["chat.on_white"]
    assert near(sent(clear).getpixel((60, 9)), (255, 255, 255))
    assert [notice.key for notice in heic("burst.heic").notices] == ["chat.first_frame", "chat.shrunk"]


def test_a_heic_that_crashes_its_decoder_is_only_damaged() -> None:
    """Found by fuzzing: libheif 1.23.0 ends with a segmentation fault on it."""
    with pytest.raises(PictureRefused) as caught:
        heic("crash.heic")
    assert caught.value.code == "picture_broken"


def test_a_heic_is_refused_by_its_size_alone() -> None:
    path = Path(__file__).parent.parent / "data" / "pictures" / "turned.heic"
    with pytest.raises(PictureRefused, match="300x400"):
        read_picture(path, Limits(intake=Intake(max_pixels=100_000)))


def test_a_photo_with_its_depths_is_no_animation() -> None:
    data = encoded(Image.new("RGB", (30, 30), RED), "MPO", save_all=True, append_images=[Image.new("RGB", (9, 9))])
    assert prepare_picture(data, "a.jpg").notices == ()


def test_an_animated_webp_gives_its_first_frame() -> None:
    frames = [Image.new("RGB", (30, 30), RED), Image.new("RGB", (30, 30), BLUE)]
    picture = prepare_picture(encoded(frames[0], "WEBP", save_all=True, append_images=frames[1:]), "a.webp")
    assert [notice.key for notice in picture.notices] == ["chat.first_frame"]
    assert near(sent(picture).getpixel((3, 3)), RED)


def test_a_colour_profile_does_not_travel() -> None:
    data = encoded(Image.new("RGB", (9, 9), RED), "PNG", icc_profile=b"profile of a telephone")
    assert "icc_profile" not in sent(prepare_picture(data, "a.png")).info


def test_a_large_lossless_picture_goes_as_jpeg() -> None:
    noise = Image.effect_noise((1024, 1024), 90).convert("RGB")
    noise.paste(Image.effect_noise((1024, 1024), 60).convert("RGB"), (7, 3))
    noise = Image.merge("RGB", [noise.getchannel(0), noise.getchannel(1).rotate(90), noise.getchannel(2).rotate(180)])
    assert prepare_picture(encoded(noise), "n.png").data_url.startswith("data:image/jpeg;base64,")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "picture_empty"),
        (b"%PDF-1.7\n%renamed to .png", "picture_is_pdf"),
        (b"PK\x03\x04word/document.xml", "picture_is_archive"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "picture_not_a_picture"),
        (b"\0\0\0\x18ftypmp42\0\0\0\0", "picture_is_video"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "picture_is_svg"),
        (b"just some text", "picture_not_a_picture"),
        (png_header(12000, 9000), "picture_too_many_pixels"),
        (png_header(60000, 60000), "picture_bomb"),
        (jpeg_header(12000, 9000), "picture_too_many_pixels"),
        (encoded(Image.new("RGB", (9, 9), RED), "JPEG") + b"\xff\xda" * 200, "picture_bomb"),
        (png_header(50, 20000), "picture_strip"),
        (png_header(100, 100), "picture_broken"),
        (encoded(Image.effect_noise((200, 200), 50), "JPEG")[:3000], "picture_broken"),
    ],
)
def test_what_is_refused(data: bytes, code: str) -> None:
    with pytest.raises(PictureRefused) as caught:
        prepare_picture(data, "odd.png")
    assert (caught.value.code, caught.value.exit_code) == (code, 2)
    assert isinstance(caught.value, SettingsError)
    assert "odd.png" in caught.value.message
    assert caught.value.hint
    assert "odd.png" in caught.value.what.text("zh")


@pytest.mark.parametrize(
    ("data", "en", "zh"),
    [
        (png_header(12000, 9000), "at most 67 million pixels", "不要超过 6700 万像素"),
        (png_header(50, 20000), "cut it", "裁成几张"),
        (b"", "save or copy the file again", "重新保存或复制"),
        (b"text", "send a JPEG, PNG or WebP", "JPEG"),
    ],
)
def test_the_next_step_fits_what_is_wrong(data: bytes, en: str, zh: str) -> None:
    with pytest.raises(PictureRefused) as caught:
        prepare_picture(data, "odd.png", Limits())
    assert caught.value.next_step
    assert en in caught.value.next_step.text("en")
    assert zh in caught.value.next_step.text("zh")


_WITHIN = """
import resource, sys
from fitserve.chat.images import prepare_picture
from fitserve.chat.said import PictureRefused
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) // 1024
small, large = (open(path, "rb").read() for path in sys.argv[1:])
prepare_picture(small, "small")
before = peak()
try:
    prepare_picture(large, "large")
except PictureRefused as error:
    print(error.code, end=" ")
print(peak() - before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""


def peak_mib(tmp_path: Path, data: bytes) -> list[str]:
    """What a process says: a refusal's code, by how many MiB it grew over a small picture, and its child's peak."""
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(encoded(Image.new("RGB", (64, 64), RED), "JPEG"))
    large.write_bytes(data)
    argv = [sys.executable, "-W", "ignore", "-c", _WITHIN, str(small), str(large)]
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout.split()


def test_a_large_photo_costs_little_memory(tmp_path: Path) -> None:
    data = encoded(Image.new("RGB", (6000, 5000), RED), "JPEG")
    grown, apart = map(int, peak_mib(tmp_path, data))
    assert grown < 20
    assert 20 < apart < 170  # 30 million pixels are 114 MiB once decoded, and Python with Pillow 60


def test_a_large_lossless_picture_costs_the_caller_nothing(tmp_path: Path) -> None:
    data = encoded(Image.new("RGB", (5000, 4000), RED), "PNG", compress_level=1)
    grown, apart = map(int, peak_mib(tmp_path, data))
    assert grown < 20
    assert apart > 20


@pytest.mark.parametrize(
    ("data", "code"),
    [(png_header(60000, 60000), "picture_bomb"), (jpeg_header(12000, 9000), "picture_too_many_pixels")],
)
def test_what_is_refused_by_its_header_costs_nothing(data: bytes, code: str, tmp_path: Path) -> None:
    said, grown, apart = peak_mib(tmp_path, data)
    assert said == code
    assert int(grown) < 20
    assert apart == "0"


def test_too_many_bytes_are_not_even_opened(tmp_path: Path) -> None:
    path = tmp_path / "big.png"
    path.write_bytes(encoded(Image.new("RGB", (200, 200), RED)))
    with pytest.raises(PictureRefused, match="at most 100 B"):
        read_picture(path, Limits(intake=Intake(max_bytes=100)))


@given(st.integers(1, 1300), st.integers(1, 1300))
@settings(max_examples=25, deadline=None)
def test_sizes_stay_within_the_limit_and_keep_their_shape(width: int, height: int) -> None:
    data = encoded(Image.new("L", (width, height), 9))
    if max(width, height) > 100 * min(width, height):
        with pytest.raises(PictureRefused):
            prepare_picture(data, "x")
        return
    picture = prepare_picture(data, "x", Limits(longest_side=512))
    assert max(picture.width, picture.height) <= 512
    assert sent(picture).size == (picture.width, picture.height)
    assert bool(picture.notices) == (max(width, height) > 512)
    if picture.notices:
        assert max(picture.width, picture.height) == 512
        scale = 512 / max(width, height)
        assert abs(picture.width - width * scale) <= 1
        assert abs(picture.height - height * scale) <= 1


SAMPLES = [
    encoded(Image.effect_noise((24, 24), 50).convert("RGB"), kind) for kind in ("PNG", "JPEG", "GIF", "WEBP", "TIFF")
]


@given(st.sampled_from(SAMPLES), st.data())
@settings(max_examples=150, deadline=None)
@pytest.mark.filterwarnings("ignore")  # Pillow warns on odd files before it refuses them
def test_damaged_files_give_a_picture_or_a_sentence(data: bytes, draw: st.DataObject) -> None:
    broken = bytearray(data)
    for _ in range(draw.draw(st.integers(1, 6))):
        broken[draw.draw(st.integers(0, len(broken) - 1))] = draw.draw(st.integers(0, 255))
    cut = draw.draw(st.integers(0, len(broken)))
    try:
        picture = prepare_picture(bytes(broken[: cut or None]), "x", Limits(intake=Intake(max_pixels=1_000_000)))
    except PictureRefused as refused:
        assert refused.message
    else:
        assert picture.data_url.startswith("data:image/")


def test_only_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    for path in (Path("/dev/zero"), tmp_path / "pipe.png", tmp_path, Path("/")):
        with pytest.raises(PictureRefused) as refused:
            read_picture(path)
        assert refused.value.code == "picture_not_a_file"
        assert (path.name or "/ is") in refused.value.message
    with pytest.raises(NotFound) as missing:
        read_picture(tmp_path / "none.png")
    assert (missing.value.exit_code, missing.value.code) == (3, "picture_missing")
    with pytest.raises(PictureRefused):
        read_picture(Path("a\0b.png"))
