"""What public starts did and what the plan says of them: the bounds that the planner is held to."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools" / "accuracy"
sys.path.insert(0, str(TOOLS))

from points import Point, points  # noqa: E402 - the tools stand beside the package, not in it
from predict import Prediction, predict  # noqa: E402

from fitserve.plan.plan import Verdict  # noqa: E402
from fitserve.text import choose_language  # noqa: E402
from fitserve.units import GIB  # noqa: E402
from report import pages  # noqa: E402


@pytest.fixture(scope="module")
def found() -> list[Prediction]:
    choose_language("en")
    return [predict(point) for point in points()]


def test_at_least_twenty_points_are_met_to_the_token(found: list[Prediction]) -> None:
    compared = [item for item in found if item.tokens is not None]
    missed = [item.point.id for item in compared if item.tokens != item.point.truth.tokens or item.blocks_off]
    assert missed == []
    assert len(compared) >= 35


def test_printed_concurrency_is_met(found: list[Prediction]) -> None:
    for item in found:
        if item.times is not None and item.point.truth.times is not None:
            digits = 2 if "half" in item.point.id or item.point.truth.times < 10 else 1
            assert round(item.times, digits) == round(item.point.truth.times, digits), item.point.id


def test_intervals_hold_nine_in_ten(found: list[Prediction]) -> None:
    covered = [item.covered for item in found if item.covered is not None]
    assert len(covered) >= 20
    assert sum(covered) >= 0.9 * len(covered)


def test_intervals_are_narrow(found: list[Prediction]) -> None:
    for item in found:
        if item.other_truth is not None and item.other_low is not None and item.other_high is not None:
            limit = 1.51 if item.calibration == "default" else 0.7
            assert (item.other_high - item.other_low) / GIB <= limit, item.point.id


def test_nothing_that_ran_is_refused(found: list[Prediction]) -> None:
    refused = [
        item.point.id
        for item in found
        if item.judgement and item.point.ran and item.judgement.verdict is Verdict.DOES_NOT_FIT
    ]
    assert refused == []


def test_nothing_that_failed_is_said_to_fit(found: list[Prediction]) -> None:
    failed = [item for item in found if item.judgement and not item.point.ran]
    assert len(failed) >= 7
    assert [item.point.id for item in failed if item.judgement and item.judgement.fits] == []


def test_a_cure_is_not_refused() -> None:
    cured = [point for point in points() if point.cure]
    assert len(cured) >= 3
    for point in cured:
        judgement = predict(with_cure(point)).judgement
        assert judgement is None or judgement.verdict is not Verdict.DOES_NOT_FIT, point.id


def with_cure(point: Point) -> Point:
    known = {item.name for item in fields(Point)}
    assert point.cure.keys() <= known
    return replace(point, **point.cure)


def test_few_are_tight(found: list[Prediction]) -> None:
    judged = [item.judgement for item in found if item.judgement]
    assert sum(item.verdict is Verdict.TIGHT for item in judged) <= 0.15 * len(judged)


def test_the_pages_are_what_the_tool_writes(found: list[Prediction]) -> None:
    for path, text in pages(found).items():
        assert path.read_text(encoding="utf-8") == text, path.name
