"""Known answers, properties, and coverage at the stated rate over 1,000 simulated benches."""

from __future__ import annotations

import math
import statistics as stdlib
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.measure.statistics import (
    bootstrap,
    goodput,
    paired_ratio,
    quantile,
    quantile_estimate,
    rounds_estimate,
    share_estimate,
    t_quantile,
)

BENCHES = 1000
FLOATS = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60)


def simulated_bench(seed: int, requests: int) -> list[float]:
    """Latencies as they are: skewed to the right, median 1."""
    rng = Random(seed)
    return [math.exp(rng.gauss(0, 0.5)) for _ in range(requests)]


@pytest.mark.parametrize(("share", "answer"), [(0.0, 1.0), (0.25, 1.75), (0.5, 2.5), (0.9, 3.7), (1.0, 4.0)])
def test_quantiles_by_hand(share: float, answer: float) -> None:
    assert quantile([4.0, 1.0, 3.0, 2.0], share) == pytest.approx(answer)


@given(FLOATS)
def test_the_median_is_the_standard_librarys(values: list[float]) -> None:
    assert quantile(values, 0.5) == pytest.approx(stdlib.median(values))


@given(FLOATS, st.floats(0.01, 0.99))
def test_an_interval_holds_its_value(values: list[float], share: float) -> None:
    estimate = quantile_estimate(values, share)
    slack = 1e-9 * (1 + abs(estimate.value))
    assert estimate.low is None or estimate.low <= estimate.value + slack
    assert estimate.high is None or estimate.high >= estimate.value - slack


@pytest.mark.parametrize(  # the usual tables of Student's t at 97.5 %
    ("degrees", "answer"), [(1, 12.70620), (2, 4.30265), (3, 3.18245), (4, 2.77645), (10, 2.22814), (30, 2.04227)]
)
def test_student_by_the_tables(degrees: int, answer: float) -> None:
    assert t_quantile(0.975, degrees) == pytest.approx(answer, abs=1e-5)


def test_order_statistics_by_the_tables() -> None:
    """For 30 values the 95 % interval of the median is the 10th to the 21st."""
    estimate = quantile_estimate([float(value) for value in range(1, 31)], 0.5)
    assert (estimate.value, estimate.low, estimate.high) == (15.5, 10.0, 21.0)


def test_an_end_that_the_data_cannot_bound_is_unknown() -> None:
    assert quantile_estimate([1.0, 2.0, 3.0], 0.99).high is None
    assert rounds_estimate([2.0]).low is None


def test_ten_thousand_requests_do_not_underflow() -> None:
    estimate = quantile_estimate([float(value) for value in range(10_000)], 0.99)
    assert estimate.low is not None and estimate.high is not None
    assert 9870 < estimate.low < 9900 < estimate.high < 9930


def test_wilson_by_hand() -> None:
    estimate = share_estimate(8, 10)
    assert (estimate.low, estimate.high) == (pytest.approx(0.49016, abs=1e-5), pytest.approx(0.94332, abs=1e-5))
    assert share_estimate(0, 10).low == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("requests", [20, 60])
def test_the_medians_interval_covers_as_stated(requests: int) -> None:
    covered = 0
    for seed in range(BENCHES):
        estimate = quantile_estimate(simulated_bench(seed, requests), 0.5)
        covered += estimate.low is not None and estimate.high is not None and estimate.low <= 1 <= estimate.high
    assert covered >= 0.95 * BENCHES - 2 * math.sqrt(BENCHES * 0.95 * 0.05)


def test_four_rounds_need_student_and_not_the_bootstrap() -> None:
    student = resampled = 0
    for seed in range(BENCHES):
        rng = Random(seed)
        rounds = [math.exp(rng.gauss(0, 0.02)) for _ in range(4)]
        estimate, drawn = rounds_estimate(rounds), bootstrap(rounds, seed=seed, resamples=100)
        student += (estimate.low or 9) <= 1 <= (estimate.high or 0)
        resampled += (drawn.low or 9) <= 1 <= (drawn.high or 0)
    assert abs(student - 950) < 25  # 3.5 standard errors
    assert resampled < 850


def test_the_bootstrap_covers_a_mean_of_many() -> None:
    truth, covered = math.exp(0.125), 0
    for seed in range(BENCHES // 4):
        estimate = bootstrap(simulated_bench(seed, 80), seed=seed, resamples=200)
        covered += (estimate.low or 9) <= truth <= (estimate.high or 0)
    assert covered >= 0.9 * BENCHES / 4


def test_pairs_take_out_what_a_round_does_to_both() -> None:
    base = [10.0, 12.0, 9.0, 15.0]
    ratio = paired_ratio(base, [value * 1.1 for value in base])
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((1.1, 1.1, 1.1))


def test_goodput_counts_what_kept_every_bound() -> None:
    rows = [(0.1, 0.01), (0.3, 0.01), (0.1, 0.05), (0.1, None)]
    assert goodput(rows, (0.2, 0.02)) == 1
    assert goodput(rows, (0.2, None)) == 3
    assert goodput(rows, (None, None)) == 4
