"""Figures with answers that can be worked out by hand."""

from __future__ import annotations

import pytest

from fitserve.measure.figures import Bounds, figures, steady_window
from fitserve.measure.load import Pace
from fitserve.measure.sample import Sample


def sample(number: int, sent_s: float, first_s: float = 0.1, gap_s: float = 0.01, tokens: int = 11, **more) -> Sample:
    times = tuple(sent_s + first_s + gap_s * token for token in range(tokens))
    values = {"prompt_tokens": 100, "image_tokens": 64, "pictures": 1, "completion_tokens": tokens, **more}
    return Sample(number, 0, sent_s, sent_s, 0.0, times[-1], times, **values)


def failed(number: int, sent_s: float, kind: str, evidence: str = "") -> Sample:
    return Sample(number, 0, sent_s, sent_s, 0.0, sent_s + 0.01, error=kind, evidence=evidence)


def one_user(count: int, every_s: float = 0.2) -> list[Sample]:
    return [sample(number, number * every_s) for number in range(count)]


def test_the_steady_state_begins_with_the_first_tokens_and_ends_with_the_last_question() -> None:
    samples = [sample(0, 0.0, first_s=0.5), sample(1, 0.0, first_s=0.9), *(sample(n, 0.4 * n) for n in range(2, 12))]
    window = steady_window(samples, Pace(users=2))
    assert window is not None
    assert (window.start_s, window.end_s) == pytest.approx((0.9, 4.4))
    found = figures(samples, Pace(users=2))
    assert found.in_window == 9  # those sent at 1.2 s to 4.4 s


def test_a_run_that_is_too_short_says_so_and_counts_all() -> None:
    found = figures(one_user(3), Pace(users=1))
    assert (found.steady, found.in_window, found.answered) == (None, 3, 3)


def test_latencies() -> None:
    found = figures([sample(n, 0.3 * n, first_s=0.1 + 0.001 * n) for n in range(41)], Pace(users=1))
    assert found.first_token_s is not None and found.time_per_token_s is not None
    assert found.first_token_s.quantiles["p50"] == pytest.approx(0.1205)  # of the 40 after the first
    assert found.first_token_s.highest == pytest.approx(0.140)
    assert found.time_per_token_s.mean == pytest.approx(0.01)
    assert found.time_per_token_s.median.low == pytest.approx(0.01)


def test_throughput_by_hand() -> None:
    """One user, an answer of 11 tokens every 0.2 s: 55 tokens/s, 5 requests/s, 180 text and 320 picture tokens/s."""
    found = figures(one_user(101), Pace(users=1)).throughput
    assert found.output_tokens == pytest.approx(55, rel=0.01)
    assert found.requests == pytest.approx(5, rel=0.01)
    assert found.text_tokens == pytest.approx(180, rel=0.01)
    assert found.image_tokens == pytest.approx(320, rel=0.01)
    assert found.pictures == pytest.approx(5, rel=0.01)


def test_what_was_not_counted_is_unknown() -> None:
    found = figures([sample(n, 0.2 * n, completion_tokens=None, image_tokens=None) for n in range(20)], Pace(users=1))
    assert found.time_per_token_s is None
    assert (found.throughput.output_tokens, found.throughput.text_tokens, found.output_tokens) == (None, None, None)
    assert found.first_token_s is not None


def test_goodput_counts_failures_as_not_good() -> None:
    slow = [sample(n, 0.2 * n, first_s=0.5 if n % 4 == 0 else 0.1) for n in range(41)]
    samples = [*slow, *(failed(100 + n, 0.2 * n + 1.1, "slow_total") for n in range(10))]
    found = figures(samples, Pace(users=1), Bounds(first_token_s=0.2)).good
    assert found is not None
    assert found.share.count == 48  # 38 sent after 0.5 s, and ten that failed
    assert found.share.value == pytest.approx(28 / 48)


def test_errors_by_kind_the_most_frequent_first() -> None:
    samples = [failed(0, 0.0, "endpoint_busy", "a"), failed(1, 0.1, "slow_total"), failed(2, 0.2, "endpoint_busy", "b")]
    found = figures(samples, Pace(users=1))
    assert [(row.kind, row.count, row.evidence) for row in found.failures] == [
        ("endpoint_busy", 2, "a"),
        ("slow_total", 1, ""),
    ]
    assert (found.answered, found.first_token_s) == (0, None)


def test_nothing_at_all() -> None:
    found = figures([], Pace(rate=3.0))
    assert (found.requests, found.steady, found.late_s) == (0, None, None)


def test_an_open_loop_says_how_late_it_was() -> None:
    samples = [Sample(n, 0, n * 0.1, n * 0.1 + 0.05, 0.0, n * 0.1 + 0.06, (n * 0.1 + 0.06,)) for n in range(20)]
    assert figures(samples, Pace(rate=10.0)).late_s == pytest.approx(0.05)
