"""The two kinds of chart that measurements need: lines over a quantity, and bars with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fitserve.report.svg import (
    WIDTH,
    Scale,
    box,
    dot,
    drawing,
    legend,
    legend_rows,
    path,
    rule,
    text,
    text_width,
    tick_text,
    whisker,
)

_TOP, _RIGHT, _PLOT = 34, 24, 260
_ROW = 26


@dataclass(frozen=True)
class Chart:
    """A drawn chart. `name` is the stem of its file."""

    name: str
    title: str
    svg: str


@dataclass(frozen=True)
class Series:
    """Points of one line, in order."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Bar:
    """One bar with its interval; `group` chooses the colour."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    group: int = 0


def lines(
    name: str,
    title: str,
    labels: tuple[str, str],
    series: Sequence[Series],
    *,
    log_x: bool = False,
    marks: bool = False,
    ticks: tuple[float, ...] = (),
    top: float | None = None,
) -> Chart:
    """Lines over x. `labels` name x and y with their units; y begins at 0 and ends at `top`, or above the highest."""
    series = [one for one in series if one.points]
    xs = [x for one in series for x, _ in one.points]
    highest = max((y for one in series for _, y in one.points), default=1.0)
    low, high = (min(xs), max(xs)) if xs else (0.0, 1.0)
    names = [one.name for one in series]
    left, bottom = 64, _TOP + 18 * legend_rows(names, 64) + _PLOT
    x = Scale(low, high if high > low else low + 1, left, WIDTH - _RIGHT, log_x and low > 0, ticks)
    y = Scale(0, top or highest * 1.05 or 1.0, bottom, bottom - _PLOT + 10)
    parts = [text(left, 20, title, bold=True, size=14), legend(names, left, _TOP + 8), _frame(x, y, labels)]
    for number, one in enumerate(series):
        pixels = [(x.place(a), y.place(b)) for a, b in one.points]
        parts.append(path(pixels, number))
        if marks:
            parts += [
                dot(px, py, number, f"{one.name}: {tick_text(a)}, {b:,.4g}")
                for (px, py), (a, b) in zip(pixels, one.points, strict=True)
            ]
    return Chart(name, title, drawing(title, bottom + 44, parts))


def _frame(x: Scale, y: Scale, labels: tuple[str, str]) -> str:
    """Axes with ticks, faint rules, and what they show."""
    parts = [rule(x.start, y.start, x.end, y.start), rule(x.start, y.start, x.start, y.end)]
    for value in x.ticks():
        place = x.place(value)
        parts += [
            rule(place, y.start, place, y.start + 5),
            text(place, y.start + 18, tick_text(value), anchor="middle", size=11),
        ]
    for value in y.ticks():
        place = y.place(value)
        parts += [
            rule(x.start, place, x.end, place, faint=True),
            text(x.start - 6, place + 4, tick_text(value), anchor="end", size=11),
        ]
    middle = (y.start + y.end) / 2
    parts += [
        text((x.start + x.end) / 2, y.start + 36, labels[0], anchor="middle"),
        text(16, middle, labels[1], anchor="middle", turn=-90),
    ]
    return "".join(parts)


def bars(
    name: str,
    title: str,
    label: str,
    rows: Sequence[Bar],
    *,
    groups: Sequence[str] = (),
    reference: float | None = None,
    log: bool = False,
) -> Chart:
    """Lying bars with intervals. With `reference` they are marks around a line (ratios around 1), not bars from 0."""
    left = min(300.0, max((text_width(row.name) for row in rows), default=0) + 20)
    ends = [end for row in rows for end in (row.value, row.low, row.high) if end is not None]
    low, high = _range([*ends, reference] if reference is not None else [*ends, 0.0], log)
    top = _TOP + 18 * legend_rows(groups, left)
    bottom = top + _ROW * len(rows) + 8
    x = Scale(low, high, left, WIDTH - 90, log)
    parts = [text(8, 20, title, bold=True, size=14), legend(groups, left, _TOP + 8, boxes=True)]
    for value in x.ticks():
        place = x.place(value)
        parts += [
            rule(place, top, place, bottom, faint=True),
            text(place, bottom + 16, tick_text(value), anchor="middle", size=11),
        ]
    if reference is not None:
        parts.append(rule(x.place(reference), top, x.place(reference), bottom))
    parts += [_bar(row, x, top + _ROW * (number + 0.5) + 4, reference is not None) for number, row in enumerate(rows)]
    parts.append(text((x.start + x.end) / 2, bottom + 34, label, anchor="middle"))
    return Chart(name, title, drawing(title, bottom + 44, parts))


def _bar(row: Bar, x: Scale, middle: float, only_mark: bool) -> str:
    place = x.place(row.value)
    words = f"{row.name}: {row.value:,.4g}"
    parts = [text(x.start - 8, middle + 4, row.name, anchor="end")]
    parts.append(
        dot(place, middle, row.group, words)
        if only_mark
        else box(x.start, middle - 8, place - x.start, 16, row.group, words)
    )
    right = place
    if row.low is not None and row.high is not None:
        parts.append(whisker(x.place(row.low), x.place(row.high), middle))
        right = max(right, x.place(row.high))
    parts.append(text(right + 8, middle + 4, tick_text(row.value), size=11))
    return "".join(parts)


def _range(values: Sequence[float], log: bool) -> tuple[float, float]:
    """A little more than all values; from below the least one where it is logarithmic or a reference lies between."""
    low, high = min(values), max(values)
    if log:
        return low / 1.15, high * 1.15
    space = (high - low) * 0.08 or 1.0
    return (0.0 if low == 0 else low - space), high + space
