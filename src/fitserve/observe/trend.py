"""Whether something grows with time: a slope with its 95 % interval, robust against jumps and against slow noise.

Samples are gathered into blocks of equal time (their medians); the slope is Theil and Sen's, the interval Sen's (1968),
widened by how much neighbouring blocks resemble each other (Hamed and Rao 1998): memory moves slowly, and without that
any wandering looks like growth. What grew only at first (caches fill, kernels are compiled) has `settled`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, pairwise
from statistics import fmean, median

from fitserve.units import MIB

_BLOCKS, _LEAST_BLOCKS = 24, 12
_LEAST_S = 600.0
_Z = 1.96
_RESOLUTION = 4 * MIB  # drivers hand memory out in pages of 2 MiB: less than two of them is no growth
_TELLS = 256 * MIB  # an hour: an interval that allows for more excludes nothing
_HOUR_S = 3600.0

Points = Sequence[tuple[float, float]]  # seconds, bytes


class Direction(StrEnum):
    """What can be said. `unknown`: too short, or too restless to tell."""

    LEVEL = "level"
    SETTLED = "settled"
    GROWING = "growing"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Trend:
    """Bytes an hour, with the 95 % interval; None where nobody can say."""

    direction: Direction
    span_s: float = 0.0
    per_hour: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def margin(self) -> float | None:
        """The ± of the slope: the wider side of its interval."""
        if self.per_hour is None or self.low is None or self.high is None:
            return None
        return max(self.high - self.per_hour, self.per_hour - self.low)


def trend(points: Points) -> Trend:
    """From samples in order of time."""
    span = points[-1][0] - points[0][0] if points else 0.0
    blocks = _blocks(points, span)
    if span < _LEAST_S or len(blocks) < _LEAST_BLOCKS:
        return Trend(Direction.UNKNOWN, span)
    whole, late = _slope(blocks), _slope(blocks[len(blocks) // 2 :])
    if _grows(whole, span) and not _is_still(late, whole.per_s, span):
        return _told(Direction.GROWING, whole, span)
    if _is_level(whole, span):
        return _told(Direction.LEVEL, whole, span)
    settled = _grows(whole, span) or _is_level(late, span / 2)
    return _told(Direction.SETTLED, late, span) if settled else _told(Direction.UNKNOWN, whole, span)


@dataclass(frozen=True)
class _Slope:
    """Bytes a second; an end of the interval is None where there is none."""

    per_s: float
    low: float | None
    high: float | None


def _told(direction: Direction, slope: _Slope, span: float) -> Trend:
    high = None if slope.high is None else max(slope.high, _RESOLUTION / span)
    hourly = (None if value is None else value * _HOUR_S for value in (slope.per_s, slope.low, high))
    return Trend(direction, span, *hourly)


def _grows(slope: _Slope, span: float) -> bool:
    return slope.low is not None and slope.low > 0 and slope.per_s * span >= _RESOLUTION


def _is_level(slope: _Slope, span: float) -> bool:
    """Whether growth that matters is excluded."""
    if slope.low is None or slope.high is None or _grows(slope, span):
        return False
    return slope.high * _HOUR_S <= _TELLS


def _is_still(late: _Slope, before: float, span: float) -> bool:
    """Whether the second half certainly grows less than half as fast as the whole, and no more than can be seen."""
    return late.high is not None and late.high < before / 2 and not _grows(late, span / 2)


def _blocks(points: Points, span: float) -> list[tuple[float, float]]:
    """Medians of equal stretches of time; a stretch without a sample has none."""
    parts: dict[int, list[tuple[float, float]]] = {}
    for at, value in points:
        place = min(_BLOCKS - 1, int((at - points[0][0]) / span * _BLOCKS)) if span > 0 else 0
        parts.setdefault(place, []).append((at, value))
    return [(median(at for at, _ in part), median(value for _, value in part)) for _, part in sorted(parts.items())]


def _slope(blocks: Points) -> _Slope:
    """Theil and Sen's slope, and Sen's interval."""
    slopes = sorted((y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in combinations(blocks, 2) if x2 > x1)
    slope, count = median(slopes), len(blocks)
    variance = count * (count - 1) * (2 * count + 5) / 18 * _likeness(blocks, slope)
    reach = _Z * math.sqrt(variance)
    first, last = math.floor((len(slopes) - reach) / 2), math.ceil((len(slopes) + reach) / 2) - 1
    if first < 0 or last >= len(slopes):
        return _Slope(slope, None, None)
    return _Slope(slope, slopes[first], slopes[last])


def _likeness(blocks: Points, slope: float) -> float:
    """By how much the blocks' likeness to their neighbours widens the variance: 1 for none."""
    rest = [value - slope * at for at, value in blocks]
    mean = fmean(rest)
    power = sum((value - mean) ** 2 for value in rest)
    if power == 0:
        return 1.0
    alike = sum((one - mean) * (other - mean) for one, other in pairwise(rest)) / power
    alike = min(0.95, max(0.0, alike + (1 + 3 * alike) / len(rest)))  # a short series shows too little of it
    return (1 + alike) / (1 - alike)
