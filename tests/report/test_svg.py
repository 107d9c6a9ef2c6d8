"""Scales, ticks and charts: right places, well-formed XML, whatever the numbers and names are."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.report.charts import Bar, Series, bars, lines
from fitserve.report.svg import Scale, log_ticks, nice_ticks, tick_text

SVG = "{http://www.w3.org/2000/svg}"
NUMBERS = st.floats(0.0001, 1e7)
NAMES = st.text(alphabet=st.characters(blacklist_categories=("Cs", "Cc")), max_size=20)


def drawn(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 100, [0, 20, 40, 60, 80, 100]),
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (101.0, 109.3, [102, 104, 106, 108]),
        (0, 24, [0, 5, 10, 15, 20]),
    ],
)
def test_ticks_are_those_that_people_choose(low: float, high: float, ticks: list[float]) -> None:
    assert nice_ticks(low, high) == pytest.approx(ticks)


def test_log_ticks() -> None:
    assert log_ticks(0.8, 30) == pytest.approx([1, 2, 5, 10, 20])


@pytest.mark.parametrize(
    ("value", "text"), [(0.2, "0.2"), (1500.0, "1,500"), (20_000.0, "20k"), (0.30000000000000004, "0.3"), (0.0, "0")]
)
def test_tick_texts(value: float, text: str) -> None:
    assert tick_text(value) == text


@given(NUMBERS, st.floats(1.001, 1e5), st.booleans())
def test_a_scale_keeps_order_and_bounds(low: float, factor: float, log: bool) -> None:
    scale = Scale(low, low * factor, 60, 700, log)
    assert scale.place(low) == pytest.approx(60)
    assert scale.place(low * factor) == pytest.approx(700)
    ticks = scale.ticks()
    places = [scale.place(value) for value in ticks]
    assert places == sorted(places)
    assert all(low * 0.99 <= value <= low * factor * 1.01 for value in ticks)
    assert len(ticks) <= 25


def test_a_line_is_where_its_numbers_are() -> None:
    chart = lines("a", "title", ("x", "y"), [Series("one", ((0.0, 0.0), (10.0, 5.0), (20.0, 10.0)))], top=10.0)
    points = drawn(chart.svg).findall(f"{SVG}polyline")[-1].attrib["points"].split()
    pixels = [tuple(map(float, point.split(","))) for point in points]
    (x0, y0), (x1, y1), (x2, y2) = pixels
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2) and y0 - y1 == pytest.approx(y1 - y2, abs=0.2)
    assert x2 > x0 and y2 < y0


def test_a_bar_is_as_long_as_its_value() -> None:
    chart = bars("a", "title", "GiB", [Bar("one", 10.0), Bar("two", 5.0, 4.0, 6.0)])
    first, second = (float(box.attrib["width"]) for box in drawn(chart.svg).findall(f"{SVG}rect"))
    assert first == pytest.approx(2 * second, abs=0.2)


@given(st.lists(st.tuples(NAMES, st.lists(st.tuples(NUMBERS, NUMBERS), max_size=5)), max_size=4), st.booleans())
def test_any_lines_are_well_formed(series: list, log: bool) -> None:
    made = [Series(name, tuple(sorted(points))) for name, points in series]
    chart = lines("a", "<&>", ("x & y", "z"), made, log_x=log, marks=True)
    assert drawn(chart.svg).find(f"{SVG}title").text == "<&>"
    assert "nan" not in chart.svg and "inf" not in chart.svg


@given(st.lists(st.tuples(NAMES, NUMBERS, st.floats(1, 100)), min_size=1, max_size=6), st.booleans())
def test_any_bars_are_well_formed(rows: list, ratios: bool) -> None:
    made = [Bar(name, value, value / spread, value * spread) for name, value, spread in rows]
    chart = bars("a", "比值", "x", made, reference=1.0 if ratios else None, log=ratios)
    drawn(chart.svg)
    assert "nan" not in chart.svg and "inf" not in chart.svg
