"""A difference of ten percent is called, a null one is not, at the stated rates, with the noise of real starts."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.measure.statistics import Estimate
from fitserve.measure.verdict import JUDGED, Call, Round, call, summary, verdicts

COMPARES, ROUNDS = 1000, 5  # rounds: what `compare` does by itself
START_NOISE, DRIFT, REQUEST_NOISE, REQUESTS = 0.015, 0.03, 0.1, 40


def simulated(seed: int, difference: float, rounds: int = ROUNDS) -> list[Round]:
    """Two settings; each start has its luck, each round its drift, each request its own time."""
    rng = Random(seed)
    made = []
    for number in range(rounds):
        drift = rng.gauss(0, DRIFT)
        for setting, factor in (("a", 1.0), ("b", 1 + difference)):
            made.append(Round(setting, number, started(rng, drift, factor)))
    return made


def started(rng: Random, drift: float, factor: float) -> dict[str, float]:
    """What one start shows: the median of 40 requests has 1.25 / sqrt(40) of a request's noise."""
    luck, share = drift + rng.gauss(0, START_NOISE), 1.25 / math.sqrt(REQUESTS)
    return {
        "first_token_s": 0.05 * math.exp(luck + rng.gauss(0, REQUEST_NOISE * share)) / factor,
        "time_per_token_s": 0.01 * math.exp(luck + rng.gauss(0, REQUEST_NOISE * share / 4)) / factor,
        "output_tokens_s": 100 * factor * math.exp(-luck + rng.gauss(0, REQUEST_NOISE / math.sqrt(REQUESTS))),
        "start_s": 60 * math.exp(rng.gauss(0, 0.05)) / factor,
    }


def test_a_null_difference_is_called_at_most_once_in_twenty_tables() -> None:
    wrong = 0
    for seed in range(COMPARES):
        found = verdicts(simulated(seed, 0.0), ("a", "b"))
        wrong += any(verdict.call in (Call.BETTER, Call.WORSE) for verdict in found)
    assert wrong <= 0.05 * COMPARES + 3 * math.sqrt(COMPARES * 0.05 * 0.95)


@pytest.mark.parametrize(("difference", "expected"), [(0.1, Call.BETTER), (-0.1, Call.WORSE)])
def test_a_true_tenth_is_called(difference: float, expected: Call) -> None:
    called = 0
    for seed in range(COMPARES):
        found = verdicts(simulated(seed, difference), ("a", "b"))
        called += next(verdict.call for verdict in found if verdict.figure == "output_tokens_s") is expected
    assert called >= 0.9 * COMPARES


def test_rounds_are_compared_with_their_own() -> None:
    """A drift of a factor of two between rounds does not hide a tenth."""
    rounds = [
        Round(setting, number, {"output_tokens_s": 2.0**number * factor * 100})
        for number in range(3)
        for setting, factor in (("a", 1.0), ("b", 1.1 + number * 0.001))
    ]
    found = verdicts(rounds, ("a", "b"))[0]
    assert (found.figure, found.call) == ("output_tokens_s", Call.BETTER)
    assert found.ratio is not None and found.ratio.value == pytest.approx(1.101, abs=0.001)


def test_one_round_gives_no_verdict() -> None:
    found = verdicts(simulated(1, 0.5, rounds=1), ("a", "b"))
    assert {verdict.call for verdict in found} == {Call.UNDECIDED}
    assert all(verdict.ratio is None for verdict in found)


def test_no_verdict_rests_on_invalid_rounds() -> None:
    rounds = simulated(3, 0.1)
    spoiled = [Round(one.setting, one.number, one.figures, ("lagged",)) if one.number else one for one in rounds]
    found = {verdict.figure: verdict.ratio for verdict in verdicts(spoiled, ("a", "b"))}
    assert [figure for figure, ratio in found.items() if ratio] == ["start_s"]  # our lag does not touch a start
    shown = summary(spoiled, "a")["output_tokens_s"]
    assert shown is not None and shown.count == ROUNDS  # marked, not hidden


def test_the_level_is_shared_out() -> None:
    two, three = (verdicts(simulated(2, 0.0) + extra, names) for extra, names in TABLES)
    assert two[0].ratio is not None and three[0].ratio is not None
    assert two[0].ratio.level == pytest.approx(0.97)
    assert three[0].ratio.level == pytest.approx(0.985)
    assert sum(1 - verdict.ratio.level for verdict in three if verdict.ratio) == pytest.approx(0.05)
    assert len(three) == 2 * len(JUDGED)


TABLES = (
    ([], ("a", "b")),
    ([Round("c", one.number, one.figures) for one in simulated(2, 0.0) if one.setting == "b"], ("a", "b", "c")),
)


@pytest.mark.parametrize(
    ("low", "high", "more", "expected"),
    [
        (1.02, 1.2, True, Call.BETTER),
        (1.02, 1.2, False, Call.WORSE),
        (0.5, 0.9, False, Call.BETTER),
        (0.97, 1.03, True, Call.ALIKE),
        (0.9, 1.03, True, Call.UNDECIDED),
        (None, None, True, Call.UNDECIDED),
    ],
)
def test_what_an_interval_supports(low: float | None, high: float | None, more: bool, expected: Call) -> None:
    assert call(Estimate(1.0, low, high, 4), more_is_better=more) is expected


@given(st.floats(0.01, 100), st.floats(1.0, 10.0), st.booleans())
def test_an_interval_around_one_never_decides(low: float, spread: float, more: bool) -> None:
    estimate = Estimate(1.0, min(low, 1.0), max(low * spread, 1.0), 4)
    assert call(estimate, more_is_better=more) in (Call.ALIKE, Call.UNDECIDED)
