"""Outlines of shapes and strokes of digits, as points in a box from -0.5 to 0.5 (y downwards)."""

from math import cos, pi, sin

from fitserve.demo.world import Shape

Point = tuple[float, float]
Stroke = tuple[Point, ...]


def _arc(x: float, y: float, wide: float, high: float, start: float, end: float, steps: int = 24) -> Stroke:
    """Points on an ellipse; angles in degrees, 0 to the right, growing clockwise on the screen."""
    angles = (start + (end - start) * index / steps for index in range(steps + 1))
    return tuple((x + wide * cos(angle * pi / 180), y + high * sin(angle * pi / 180)) for angle in angles)


def _star() -> Stroke:
    radii = (0.52, 0.22)
    angles = (-pi / 2 + index * pi / 5 for index in range(10))
    return tuple(
        (radii[index % 2] * cos(angle), radii[index % 2] * sin(angle) + 0.03) for index, angle in enumerate(angles)
    )


def _heart() -> Stroke:
    left = _arc(-0.245, -0.2, 0.255, 0.27, 160, 345)
    right = _arc(0.245, -0.2, 0.255, 0.27, 195, 380)
    return (*left, *right, (0.0, 0.5))


def _cross() -> Stroke:
    arm, end = 0.16, 0.5
    return (
        (-arm, -end), (arm, -end), (arm, -arm), (end, -arm), (end, arm), (arm, arm),
        (arm, end), (-arm, end), (-arm, arm), (-end, arm), (-end, -arm), (-arm, -arm),
    )  # fmt: skip


OUTLINES: dict[Shape, Stroke] = {
    "circle": _arc(0, 0, 0.5, 0.5, 0, 360, 48),
    "square": ((-0.45, -0.45), (0.45, -0.45), (0.45, 0.45), (-0.45, 0.45)),
    "triangle": ((0.0, -0.48), (0.5, 0.42), (-0.5, 0.42)),
    "star": _star(),
    "heart": _heart(),
    "cross": _cross(),
}

DIGITS: tuple[tuple[Stroke, ...], ...] = (
    (_arc(0, 0, 0.26, 0.44, 0, 360, 40),),
    (((-0.16, -0.26), (0.04, -0.44), (0.04, 0.44)),),
    ((*_arc(0, -0.2, 0.25, 0.24, 190, 390), (-0.26, 0.44), (0.28, 0.44)),),
    (_arc(-0.02, -0.22, 0.24, 0.22, 200, 450), _arc(-0.02, 0.21, 0.27, 0.23, 270, 520)),
    (((0.12, 0.44), (0.12, -0.44), (-0.28, 0.16), (0.3, 0.16)),),
    (((0.24, -0.44), (-0.2, -0.44), (-0.22, -0.06)), _arc(-0.02, 0.15, 0.27, 0.29, 225, 510)),
    (((0.16, -0.44), (-0.12, -0.14), (-0.25, 0.12)), _arc(0, 0.18, 0.26, 0.26, 0, 360, 32)),
    (((-0.26, -0.44), (0.26, -0.44), (-0.06, 0.44)),),
    (_arc(0, -0.22, 0.21, 0.22, 0, 360, 32), _arc(0, 0.22, 0.26, 0.22, 0, 360, 32)),
    (_arc(0, -0.18, 0.26, 0.26, 0, 360, 32), ((0.25, -0.12), (0.12, 0.14), (-0.12, 0.44))),
)


def area_share(shape: Shape) -> float:
    """Area of a shape of size one (shoelace formula)."""
    points = OUTLINES[shape]
    pairs = zip(points, (*points[1:], points[0]), strict=True)
    return abs(sum(ax * by - bx * ay for (ax, ay), (bx, by) in pairs)) / 2


def turned(points: Stroke, degrees: float, scale: float, offset: float) -> list[Point]:
    """Points turned about the middle, scaled, and moved by `offset` on both axes."""
    turn = degrees * pi / 180
    across, along = cos(turn), sin(turn)
    return [(offset + scale * (x * across - y * along), offset + scale * (x * along + y * across)) for x, y in points]
