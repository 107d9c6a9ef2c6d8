"""The drawn world of the demo model: what can stand in a picture, and how a seed becomes a scene.

Lengths are pixels; `x` and `y` are centres, from the top left corner.
"""

from dataclasses import dataclass
from random import Random
from typing import Literal, TypeVar

Shape = Literal["circle", "square", "triangle", "star", "heart", "cross"]
Colour = Literal["red", "orange", "yellow", "green", "blue", "purple", "black", "white"]
Place = Literal["top left", "top right", "bottom left", "bottom right", "centre"]
BackgroundKind = Literal["plain", "gradient", "noise", "stripes"]
Rgb = tuple[int, int, int]
T = TypeVar("T")

SHAPES: tuple[Shape, ...] = ("circle", "square", "triangle", "star", "heart", "cross")
COLOURS: tuple[Colour, ...] = ("red", "orange", "yellow", "green", "blue", "purple", "black", "white")
PLACES: tuple[Place, ...] = ("top left", "top right", "bottom left", "bottom right", "centre")
BACKGROUNDS: tuple[BackgroundKind, ...] = ("plain", "gradient", "noise", "stripes")

SIDE_PX = (128, 768)
LONGEST_RATIO = 2.0
OBJECT_SHARE = (0.10, 0.45)  # of the shorter side
DIGIT_SHARE = (0.18, 0.45)
DIGIT_CHANCE = 0.35
_GAP_SHARE = 0.02
_ANCHOR: dict[Place, tuple[float, float]] = {
    "top left": (0.25, 0.25),
    "top right": (0.75, 0.25),
    "bottom left": (0.25, 0.75),
    "bottom right": (0.75, 0.75),
    "centre": (0.5, 0.5),
}
_JITTER = {"centre": 0.04}
_CORNER_JITTER = 0.08


@dataclass(frozen=True, slots=True)
class Item:
    """One coloured shape; `size` is the side of its bounding box before it is tilted."""

    shape: Shape
    colour: Colour
    place: Place
    x: float
    y: float
    size: float
    tilt_degrees: float


@dataclass(frozen=True, slots=True)
class Digit:
    """A handwritten-looking digit; `size` is its height."""

    value: int
    place: Place
    x: float
    y: float
    size: float
    tilt_degrees: float
    ink: Literal["black", "white"]
    stroke_share: float


@dataclass(frozen=True, slots=True)
class Background:
    kind: BackgroundKind
    first: Rgb
    second: Rgb
    angle_degrees: int
    grain_px: int
    seed: int


@dataclass(frozen=True, slots=True)
class Scene:
    width: int
    height: int
    background: Background
    items: tuple[Item, ...]
    digit: Digit | None


@dataclass(frozen=True, slots=True)
class _Spot:
    place: Place
    x: float
    y: float
    size: float

    def overlaps(self, other: "_Spot", gap: float) -> bool:
        reach = (self.size + other.size) / 2 + gap
        return abs(self.x - other.x) < reach and abs(self.y - other.y) < reach


def draw_size(rng: Random) -> tuple[int, int]:
    """Width and height of a picture: the longer side uniform, the ratio up to two to one."""
    longer = rng.randint(*SIDE_PX)
    shorter = max(SIDE_PX[0], round(longer / rng.uniform(1.0, LONGEST_RATIO)))
    return (longer, shorter) if rng.random() < 0.5 else (shorter, longer)


def draw_scene(rng: Random, size: tuple[int, int] | None = None) -> Scene:
    """A scene from a seeded generator; `size` (width, height) fixes the picture's size."""
    width, height = size or draw_size(rng)
    count = rng.randint(1, 4)
    has_digit = rng.random() < DIGIT_CHANCE
    spots = _spots(rng, width, height, count, has_digit)
    shapes, colours = _some(rng, SHAPES, count), _some(rng, COLOURS, count)
    items = tuple(
        Item(shape, colour, spot.place, spot.x, spot.y, spot.size, rng.uniform(-12, 12))
        for shape, colour, spot in zip(shapes, colours, spots, strict=False)
    )
    return Scene(width, height, _background(rng), items, _digit(rng, spots[count]) if has_digit else None)


def _some(rng: Random, names: tuple[T, ...], count: int) -> list[T]:
    """Independent draws; often from two names only, so that there is something to count."""
    pool = rng.sample(names, 2) if rng.random() < 0.35 else names
    return [rng.choice(pool) for _ in range(count)]


def _spots(rng: Random, width: int, height: int, count: int, has_digit: bool) -> list[_Spot]:
    while True:
        found = _try_spots(rng, width, height, count, has_digit)
        if found:
            return found


def _try_spots(rng: Random, width: int, height: int, count: int, has_digit: bool) -> list[_Spot] | None:
    short = min(width, height)
    found: list[_Spot] = []
    for index, place in enumerate(rng.sample(PLACES, count + has_digit)):
        low, high = DIGIT_SHARE if index == count else OBJECT_SHARE
        spot = _free_spot(rng, place, (width, height), (low * short, high * short), found)
        if spot is None:
            return None
        found.append(spot)
    return found


def _free_spot(
    rng: Random, place: Place, frame: tuple[int, int], sizes: tuple[float, float], taken: list[_Spot]
) -> _Spot | None:
    gap = _GAP_SHARE * min(frame)
    size = rng.uniform(*sizes)
    for _ in range(12):
        spot = _spot(rng, place, frame, size)
        if not any(spot.overlaps(other, gap) for other in taken):
            return spot
        size = max(sizes[0], size * 0.9)
    return None


def _spot(rng: Random, place: Place, frame: tuple[int, int], size: float) -> _Spot:
    centre = []
    for share, side in zip(_ANCHOR[place], frame, strict=True):
        jitter = _JITTER.get(place, _CORNER_JITTER)
        wanted = (share + rng.uniform(-jitter, jitter)) * side
        centre.append(min(max(wanted, size * 0.55), side - size * 0.55))
    return _Spot(place, centre[0], centre[1], size)


def _background(rng: Random) -> Background:
    kind = rng.choice(BACKGROUNDS)
    return Background(
        kind=kind,
        first=_muted(rng),
        second=_muted(rng),
        angle_degrees=rng.choice((0, 45, 90, 135)),
        grain_px=rng.choice((1, 1, 2, 4)) if kind == "noise" else rng.randint(5, 40),
        seed=rng.getrandbits(32),
    )


def _muted(rng: Random) -> Rgb:
    """A pale colour that no object has: little saturation, middle brightness."""
    value = rng.uniform(130, 195)
    red, green, blue = (round(value * (1 - rng.uniform(0, 0.2))) for _ in range(3))
    return red, green, blue


def _digit(rng: Random, spot: _Spot) -> Digit:
    return Digit(
        value=rng.randrange(10),
        place=spot.place,
        x=spot.x,
        y=spot.y,
        size=spot.size,
        tilt_degrees=rng.uniform(-8, 8),
        ink=rng.choice(("black", "white")),
        stroke_share=rng.uniform(0.11, 0.18),
    )
