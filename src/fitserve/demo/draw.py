"""A scene as a Pillow image, and as the bytes of a PNG or JPEG file."""

from io import BytesIO
from random import Random
from typing import Literal

from PIL import Image, ImageChops, ImageDraw

from fitserve.demo.outline import DIGITS, OUTLINES, turned
from fitserve.demo.world import Background, Colour, Digit, Item, Rgb, Scene

ImageFormat = Literal["PNG", "JPEG"]

PAINT: dict[Colour, Rgb] = {
    "red": (215, 35, 40),
    "orange": (245, 135, 20),
    "yellow": (245, 225, 45),
    "green": (35, 150, 65),
    "blue": (35, 85, 215),
    "purple": (140, 50, 175),
    "black": (22, 22, 24),
    "white": (248, 248, 248),
}
_FINER = 4  # drawn this many times larger and shrunk, so that edges are smooth


def picture(scene: Scene) -> Image.Image:
    """The scene in RGB, at its own size."""
    image = _ground(scene.background, scene.width, scene.height)
    for item in scene.items:
        _paste(image, _item_mask(item), item.x, item.y, _shade(item, scene.background.seed))
    if scene.digit:
        _paste(image, _digit_mask(scene.digit), scene.digit.x, scene.digit.y, PAINT[scene.digit.ink])
    return image


def encode(image: Image.Image, image_format: ImageFormat, quality: int = 90) -> bytes:
    """The image as a file's bytes; `quality` counts for JPEG only."""
    out = BytesIO()
    image.save(out, image_format, quality=quality)
    return out.getvalue()


def _shade(item: Item, seed: int) -> Rgb:
    """The item's colour, a little off, as paint is."""
    rng = Random(f"{seed} {item.x} {item.y}")
    red, green, blue = (min(255, max(0, part + rng.randint(-10, 10))) for part in PAINT[item.colour])
    return red, green, blue


def _paste(image: Image.Image, mask: Image.Image, x: float, y: float, paint: Rgb) -> None:
    corner = (round(x - mask.width / 2), round(y - mask.height / 2))
    image.paste(paint, (*corner, corner[0] + mask.width, corner[1] + mask.height), mask)


def _canvas(size: float) -> tuple[Image.Image, float]:
    side = round(size * 1.3) + 2
    return Image.new("L", (side * _FINER, side * _FINER)), side * _FINER / 2


def _item_mask(item: Item) -> Image.Image:
    mask, middle = _canvas(item.size)
    points = turned(OUTLINES[item.shape], item.tilt_degrees, item.size * _FINER, middle)
    ImageDraw.Draw(mask).polygon(points, fill=255)
    return mask.reduce(_FINER)


def _digit_mask(digit: Digit) -> Image.Image:
    mask, middle = _canvas(digit.size)
    pen = ImageDraw.Draw(mask)
    width = max(1, round(digit.stroke_share * digit.size * _FINER))
    for stroke in DIGITS[digit.value]:
        points = turned(stroke, digit.tilt_degrees, digit.size * _FINER * (1 - digit.stroke_share), middle)
        pen.line(points, fill=255, width=width, joint="curve")
        for x, y in (points[0], points[-1]):
            pen.ellipse((x - width / 2, y - width / 2, x + width / 2, y + width / 2), fill=255)
    return mask.reduce(_FINER)


def _ground(background: Background, width: int, height: int) -> Image.Image:
    plain = Image.new("RGB", (width, height), background.first)
    if background.kind == "plain":
        return plain
    if background.kind == "noise":
        return _noisy(plain, background)
    mask = (
        _gradient(background, width, height) if background.kind == "gradient" else _stripes(background, width, height)
    )
    plain.paste(background.second, (0, 0, width, height), mask)
    return plain


def _noisy(plain: Image.Image, background: Background) -> Image.Image:
    """Grain of up to 26 levels either way; from `Random`, since Pillow's own noise has no seed."""
    across, down = -(-plain.width // background.grain_px), -(-plain.height // background.grain_px)
    grain = Image.frombytes("L", (across, down), Random(background.seed).randbytes(across * down))
    grain = grain.resize(plain.size).point([level // 5 for level in range(256)])
    return ImageChops.subtract(
        ImageChops.add(plain, Image.merge("RGB", [grain] * 3)), Image.new("RGB", plain.size, (26,) * 3)
    )


def _gradient(background: Background, width: int, height: int) -> Image.Image:
    ramp = Image.linear_gradient("L")
    if background.angle_degrees in (45, 135):
        ramp = Image.blend(ramp, ramp.rotate(90), 0.5)
    if background.angle_degrees >= 90:
        ramp = ramp.rotate(90)
    return ramp.resize((width, height), Image.Resampling.BILINEAR)


def _stripes(background: Background, width: int, height: int) -> Image.Image:
    mask = Image.new("L", (width, height))
    pen, step = ImageDraw.Draw(mask), background.grain_px * 2
    slant = {0: 0, 45: height, 90: None, 135: -height}[background.angle_degrees]
    for start in range(-height, width + height, step):
        if slant is None:
            pen.rectangle((0, start, width, start + background.grain_px - 1), fill=255)
        else:
            end = start + background.grain_px
            pen.polygon([(start, 0), (end, 0), (end + slant, height), (start + slant, height)], fill=255)
    return mask
