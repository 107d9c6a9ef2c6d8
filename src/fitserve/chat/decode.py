"""A picture file as pixels: checked by its header before anything is decoded, first frame, upright, RGB on white.

Memory is bounded by the pixels that the limits allow (0.6 GiB for the largest): a JPEG decodes straight to a half or an
eighth, the others are brought to RGB and reduced in strips, so that no second copy stands beside the decoded picture.
"""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fitserve.chat.said import PictureRefused, said
from fitserve.chat.sniff import foreign_format
from fitserve.units import MIB, format_bytes

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = (
    "JPEG",
    "PNG",
    "WEBP",
    "GIF",
    "BMP",
    "TIFF",
    "AVIF",
    "PPM",
    "HEIF",
)  # as far as they are there; HEIF only apart
_WHITE = (255, 255, 255)
_JPEG = ("JPEG", "MPO")
_ORIENTATION = 0x0112
_STRIP_ROWS = 256
_COPIES = {"WEBP": 2, "AVIF": 2}  # decoders that keep several whole pictures: fewer pixels for the same memory
_NEXT = {"too_large", "too_many_pixels", "strip", "empty"}  # those with a next step of their own
_SCAN = b"\xff\xda"  # stands before each scan of a JPEG, and nowhere in its data
_MOST_SCANS = 100  # a progressive JPEG has about ten; each of thousands in a small file costs a whole pass


@dataclass(frozen=True)
class Intake:
    """What is taken in at all. Checked before anything is decoded."""

    max_bytes: int = 64 * MIB
    max_pixels: int = 64 * 1024 * 1024  # a 64-megapixel telephone passes, a 100-megapixel scan does not
    max_ratio: int = 100  # vision processors refuse strips of 200:1; a strip shrunk is nothing


@dataclass(frozen=True)
class Opened:
    """A picture whose header was read and found fit; `size` is upright, as a person sees it."""

    name: str
    image: Image
    size: tuple[int, int]
    orientation: int  # EXIF's: how the pixels lie
    animated: bool
    lossy: bool

    @property
    def transparent(self) -> bool:
        """Whether it has places that may be seen through."""
        return "A" in self.image.getbands() or "transparency" in self.image.info


def opened(data: bytes, name: str, intake: Intake) -> Opened:
    """The header only. Raises PictureRefused."""
    if not data:
        raise refused("empty", name)
    if len(data) > intake.max_bytes:
        raise too_large(name, len(data), intake.max_bytes)
    image = _header(data, name)
    width, height = image.size
    most = intake.max_pixels // _COPIES.get(image.format or "", 1)
    if width * height > most:
        raise refused("too_many_pixels", name, size=f"{width}x{height}", limit=most // 10**6)
    if max(width, height) > intake.max_ratio * max(1, min(width, height)):
        raise refused("strip", name, size=f"{width}x{height}")
    if image.format in _JPEG and data.count(_SCAN) > _MOST_SCANS:
        raise refused("bomb", name, evidence=f"{data.count(_SCAN)} scans")
    orientation = _orientation(image, name)
    upright = (height, width) if orientation in (5, 6, 7, 8) else (width, height)
    animated = image.format != "MPO" and bool(getattr(image, "is_animated", False))  # MPO: a photo and its depths
    lossy = image.format in (*_JPEG, "HEIF")
    return Opened(name, image, upright, orientation, animated, lossy)


def decoded(source: Opened, size: tuple[int, int]) -> Image:
    """The pixels in `size` (upright, no larger than the source's). Raises PictureRefused where they are damaged."""
    import PIL.Image
    import PIL.ImageOps

    image, factor = source.image, max(1, max(source.size) // (2 * max(size)))
    try:
        if factor > 1:
            image.draft(None, (max(size) * 2, max(size) * 2))  # only JPEG does
        image.load()
        plain = _plain(image, max(1, max(image.size) // (2 * max(size))))
    except Exception as error:  # decoders raise anything at all on bytes made to break them
        raise refused("broken", source.name, evidence=f"{type(error).__name__}: {error}") from error
    plain.getexif()[_ORIENTATION] = source.orientation
    PIL.ImageOps.exif_transpose(plain, in_place=True)
    return plain if plain.size == size else plain.resize(size, PIL.Image.Resampling.LANCZOS)


def _header(data: bytes, name: str) -> Image:
    import PIL.Image

    foreign = foreign_format(data)
    if foreign:
        raise refused(foreign, name)
    PIL.Image.init()
    warnings.filterwarnings("ignore", category=PIL.Image.DecompressionBombWarning)  # the limits are stricter, and tell
    formats = [name for name in FORMATS if name in PIL.Image.OPEN]
    try:
        return PIL.Image.open(io.BytesIO(data), formats=formats)
    except PIL.Image.DecompressionBombError as error:
        raise refused("bomb", name, evidence=str(error)) from error
    except PIL.UnidentifiedImageError as error:
        raise refused("not_a_picture", name) from error
    except Exception as error:  # as in decoded
        raise refused("broken", name, evidence=f"{type(error).__name__}: {error}") from error


def _orientation(image: Image, name: str) -> int:
    if image.format == "PNG" and "exif" not in image.info:  # Pillow would decode it all to look behind the pixels
        return 1
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except Exception as error:  # as in decoded
        raise refused("broken", name, evidence=f"{type(error).__name__}: {error}") from error


def _plain(image: Image, factor: int) -> Image:
    """As RGB on white, `factor` times smaller: strip by strip, so that only the source is there as a whole."""
    import PIL.Image

    if factor == 1 and image.mode == "RGB" and "transparency" not in image.info:
        return image
    scale = _grey_scale(image)
    rows = _STRIP_ROWS * factor
    canvas = PIL.Image.new("RGB", (-(-image.width // factor), -(-image.height // factor)))
    for top in range(0, image.height, rows):
        strip = _flattened(image.crop((0, top, image.width, min(top + rows, image.height))), scale)
        canvas.paste(strip.reduce(factor) if factor > 1 else strip, (0, top // factor))
    return canvas


def _flattened(image: Image, scale: float) -> Image:
    """As RGB on white: CMYK, palettes, transparency, 16 bits and floats."""
    import PIL.Image

    if image.mode.startswith(("I", "F")):
        image = image.convert("F").point(lambda value: value * scale + 0).convert("L")
    if "A" in image.getbands() or "transparency" in image.info:
        clear = image.convert("RGBA")
        canvas = PIL.Image.new("RGB", image.size, _WHITE)
        canvas.paste(clear, mask=clear.getchannel("A"))
        return canvas
    return image.convert("RGB")


def _grey_scale(image: Image) -> float:
    """What brings 16-bit and float greys into a byte: by their own highest value where they exceed it."""
    if not image.mode.startswith(("I", "F")):
        return 1.0
    extrema = image.getextrema()
    highest = float(extrema[1]) if isinstance(extrema[1], int | float) else 255.0
    return 255.0 / (65535.0 if image.mode.startswith("I;16") else highest) if highest > 255 else 1.0


def too_large(name: str, size: int, limit: int) -> PictureRefused:
    """For a file of too many bytes."""
    return refused("too_large", name, size=format_bytes(size), limit=format_bytes(limit))


def refused(reason: str, name: str, evidence: str = "", **values: object) -> PictureRefused:
    """`picture_REASON` of the catalogue, with the next step."""
    key = f"chat.picture_{reason}"
    next_step = said(f"{key}_next", **values) if reason in _NEXT else said("chat.picture_next")
    what = said(key, name=name, **values)
    return PictureRefused(what, code=f"picture_{reason}", evidence=evidence, next_step=next_step)
