"""A picture on its way to a model: decoded under limits, upright, without metadata, small, as a data URL."""

from __future__ import annotations

import base64
import io
import os
import stat
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fitserve.chat.said import PictureMissing, PictureRefused, Said, said
from fitserve.chat.sniff import foreign_format
from fitserve.units import MIB, format_bytes

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "PPM")  # as far as this Pillow has them
_LOSSLESS_LIMIT = 2 * MIB  # a PNG above this goes as JPEG: every turn sends it again
_WHITE = (255, 255, 255)


@dataclass(frozen=True)
class Limits:
    """What is taken in, and what is sent. Pixels and bytes are checked before anything is decoded."""

    longest_side: int | None = 1024  # None sends the picture in its own size
    max_bytes: int = 64 * MIB
    max_pixels: int = 64 * 1024 * 1024  # a 64-megapixel telephone passes, a 100-megapixel scan does not
    max_ratio: int = 100  # vision processors refuse strips of 200:1; a strip shrunk is nothing


@dataclass(frozen=True)
class Picture:
    """One picture, ready to send. `notices` say what was changed on the way."""

    name: str
    width: int
    height: int
    original_width: int
    original_height: int
    data_url: str
    notices: tuple[Said, ...] = ()


def read_picture(path: Path, limits: Limits | None = None) -> Picture:
    """Prepare a file. Raises PictureRefused, or PictureMissing where there is none."""
    limits = limits or Limits()
    name = path.name or str(path)
    try:
        data = _read(path, name, limits)
    except FileNotFoundError as error:
        what, next_step = said("chat.picture_missing", name=name), said("chat.picture_next")
        raise PictureMissing(what, code="picture_missing", evidence=str(path), next_step=next_step) from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = (error.strerror if isinstance(error, OSError) else "") or str(error)
        raise _refused("unreadable", name, evidence=f"{path}: {reason}") from error
    return prepare_picture(data, name, limits)


def _read(path: Path, name: str, limits: Limits) -> bytes:
    """Never more than the limit, and never from a pipe or a device: those may have no end."""
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # opening a pipe must not wait for its writer
    found = os.fstat(opened)
    if not stat.S_ISREG(found.st_mode):
        os.close(opened)
        raise _refused("not_a_file", name, evidence=str(path))
    with os.fdopen(opened, "rb") as file:
        if found.st_size > limits.max_bytes:
            raise _too_large(name, found.st_size, limits)
        return file.read(limits.max_bytes + 1)  # it may be growing


def prepare_picture(data: bytes, name: str, limits: Limits | None = None) -> Picture:
    """Prepare the bytes of a picture file; `name` is for notices only. Raises PictureRefused."""
    limits = limits or Limits()
    if not data:
        raise _refused("empty", name)
    if len(data) > limits.max_bytes:
        raise _too_large(name, len(data), limits)
    image = _opened(data, name)
    notices = [said("chat.first_frame", name=name)] if getattr(image, "is_animated", False) else []
    _check_size(image, name, limits)
    lossy = image.format in ("JPEG", "MPO")
    image, (width, height) = _upright(image, name, limits)
    image = _flattened(image)
    if limits.longest_side and max(width, height) > limits.longest_side:
        image = _shrunk(image, (width, height), limits.longest_side)
        before, after = f"{width}x{height}", f"{image.width}x{image.height}"
        notices.append(said("chat.shrunk", name=name, before=before, after=after))
    return Picture(name, image.width, image.height, width, height, _data_url(image, lossy), tuple(notices))


def _opened(data: bytes, name: str) -> Image:
    """The header only; nothing is decoded yet."""
    import PIL.Image

    foreign = foreign_format(data)
    if foreign:
        raise _refused(foreign, name)
    PIL.Image.init()
    warnings.filterwarnings("ignore", category=PIL.Image.DecompressionBombWarning)  # _check_size is stricter, and tells
    formats = [name for name in FORMATS if name in PIL.Image.OPEN]
    try:
        return PIL.Image.open(io.BytesIO(data), formats=formats)
    except PIL.Image.DecompressionBombError as error:
        raise _refused("bomb", name, evidence=str(error)) from error
    except PIL.UnidentifiedImageError as error:
        raise _refused("not_a_picture", name) from error
    except Exception as error:  # decoders raise anything at all on bytes made to break them
        raise _refused("broken", name, evidence=f"{type(error).__name__}: {error}") from error


def _check_size(image: Image, name: str, limits: Limits) -> None:
    width, height = image.size
    if width * height > limits.max_pixels:
        raise _refused("too_many_pixels", name, size=f"{width}x{height}", limit=limits.max_pixels // 10**6)
    if max(width, height) > limits.max_ratio * max(1, min(width, height)):
        raise _refused("strip", name, size=f"{width}x{height}")


def _upright(image: Image, name: str, limits: Limits) -> tuple[Image, tuple[int, int]]:
    """Decode and turn as EXIF says. Gives the image (a JPEG perhaps already smaller) and its full upright size."""
    import PIL.ImageOps

    try:
        full = image.size
        orientation = image.getexif().get(0x0112, 1)
        if limits.longest_side:  # a JPEG decodes to a half or an eighth for less memory; others ignore it
            image.draft(None, (limits.longest_side * 2, limits.longest_side * 2))
        image.load()
        turned = PIL.ImageOps.exif_transpose(image)
    except Exception as error:  # as in _opened
        raise _refused("broken", name, evidence=f"{type(error).__name__}: {error}") from error
    return turned, full[::-1] if orientation in (5, 6, 7, 8) else full


def _flattened(image: Image) -> Image:
    """As RGB on white: CMYK, palettes, transparency, 16 bits and floats."""
    import PIL.Image

    if image.mode.startswith(("I", "F")):
        image = _eight_bits(image)
    if "A" in image.getbands() or "transparency" in image.info:
        clear = image.convert("RGBA")
        canvas = PIL.Image.new("RGB", image.size, _WHITE)
        canvas.paste(clear, mask=clear.getchannel("A"))
        return canvas
    return image.convert("RGB")


def _eight_bits(image: Image) -> Image:
    """16-bit and float greys scaled by their own highest value where they exceed a byte."""
    grey = image.convert("F")
    extrema = grey.getextrema()
    highest = float(extrema[1]) if isinstance(extrema[1], int | float) else 255.0
    scale = 255.0 / (65535.0 if image.mode.startswith("I;16") else highest) if highest > 255 else 1.0
    return grey.point(lambda value: value * scale + 0).convert("L")


def _shrunk(image: Image, full: tuple[int, int], longest_side: int) -> Image:
    import PIL.Image

    scale = longest_side / max(full)
    size = (max(1, round(full[0] * scale)), max(1, round(full[1] * scale)))
    return image.resize(size, PIL.Image.Resampling.LANCZOS)


def _data_url(image: Image, lossy: bool) -> str:
    """Encoded afresh from the pixels alone, so that no place, camera or colour profile travels along."""
    import PIL.Image

    bare = PIL.Image.new("RGB", image.size)
    bare.paste(image)
    if not lossy:
        data = _encoded(bare, "PNG")
        if len(data) <= _LOSSLESS_LIMIT:
            return "data:image/png;base64," + base64.b64encode(data).decode()
    return "data:image/jpeg;base64," + base64.b64encode(_encoded(bare, "JPEG")).decode()


def _encoded(image: Image, kind: str) -> bytes:
    buffer = io.BytesIO()
    if kind == "PNG":
        image.save(buffer, "PNG", compress_level=3)
    else:
        image.save(buffer, "JPEG", quality=92, subsampling=0)
    return buffer.getvalue()


def _too_large(name: str, size: int, limits: Limits) -> PictureRefused:
    return _refused("too_large", name, size=format_bytes(size), limit=format_bytes(limits.max_bytes))


def _refused(reason: str, name: str, evidence: str = "", **values: object) -> PictureRefused:
    what = said(f"chat.picture_{reason}", name=name, **values)
    return PictureRefused(what, code=f"picture_{reason}", evidence=evidence, next_step=said("chat.picture_next"))
