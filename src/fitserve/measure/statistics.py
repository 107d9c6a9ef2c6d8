"""The arithmetic of measuring: quantiles, intervals that cover what they state, paired differences, goodput.

Two kinds of interval, each where it is honest:

- within one run, requests are many: quantiles by order statistics (exact for any distribution), shares by Wilson,
  means by bootstrap;
- across starts, rounds are few (3 to 6) and each start has its own luck: Student's t on the logarithms of the rounds'
  medians. A bootstrap over four rounds that states 95 % covers about 80 % (`tests/measure/test_statistics.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from statistics import fmean, stdev

LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A value and its interval. An end that the data can't bound is None, never a guess."""

    value: float
    low: float | None
    high: float | None
    count: int
    level: float = LEVEL


def quantile(values: Sequence[float], share: float) -> float:
    """The quantile by linear interpolation between order statistics (R's type 7). Raises ValueError for no values."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def quantile_estimate(values: Sequence[float], share: float, level: float = LEVEL) -> Estimate:
    """A quantile with the order statistics that bracket it at least as often as stated, whatever the distribution."""
    ordered = sorted(values)
    value, count, tail = quantile(ordered, share), len(ordered), (1 - level) / 2
    at_most = _binomial_cumulative(count, share)
    low = high = None
    for rank in range(1, count + 1):  # the rank-th smallest value
        if at_most[rank - 1] <= tail:
            low = ordered[rank - 1]
        if high is None and 1 - at_most[rank - 1] <= tail:
            high = max(value, ordered[rank - 1])  # interpolation may stand a step above
    return Estimate(value, None if low is None else min(value, low), high, count, level)


def share_estimate(hits: int, count: int, level: float = LEVEL) -> Estimate:
    """A share with Wilson's interval. Raises ValueError for no trials."""
    if count <= 0:
        raise ValueError("no trials")
    share, z = hits / count, normal_quantile((1 + level) / 2)
    weight = z * z / count
    middle = (share + weight / 2) / (1 + weight)
    reach = z * math.sqrt(share * (1 - share) / count + weight / (4 * count)) / (1 + weight)
    return Estimate(share, max(0.0, middle - reach), min(1.0, middle + reach), count, level)


def bootstrap(
    values: Sequence[float],
    statistic: Callable[[Sequence[float]], float] = fmean,
    *,
    seed: int = 0,
    resamples: int = 2000,
    level: float = LEVEL,
) -> Estimate:
    """Any statistic of independent values with its percentile-bootstrap interval. Raises ValueError for no values."""
    if not values:
        raise ValueError("no values")
    rng = Random(seed)
    drawn = sorted(statistic(rng.choices(values, k=len(values))) for _ in range(resamples))
    tail = (1 - level) / 2
    return Estimate(statistic(values), quantile(drawn, tail), quantile(drawn, 1 - tail), len(values), level)


def rounds_estimate(figures: Sequence[float], level: float = LEVEL) -> Estimate:
    """One positive figure a round: their geometric mean with Student's interval. One round has no interval."""
    logs = [math.log(figure) for figure in figures]
    middle = fmean(logs)
    if len(logs) < 2:
        return Estimate(math.exp(middle), None, None, len(logs), level)
    reach = t_quantile((1 + level) / 2, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    return Estimate(math.exp(middle), math.exp(middle - reach), math.exp(middle + reach), len(logs), level)


def paired_ratio(base: Sequence[float], other: Sequence[float], level: float = LEVEL) -> Estimate:
    """`other` over `base`, round by round, so that what a round does to both falls out. Raises ValueError."""
    return rounds_estimate([b / a for a, b in zip(base, other, strict=True)], level)


def goodput(latencies: Sequence[Sequence[float | None]], bounds: Sequence[float | None]) -> int:
    """How many requests kept every bound that is given. A latency that is unknown does not keep its bound."""
    return sum(all(_kept(value, bound) for value, bound in zip(row, bounds, strict=True)) for row in latencies)


def normal_quantile(share: float) -> float:
    """The standard normal's quantile."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


@cache
def t_quantile(share: float, degrees: int) -> float:
    """Student's t for whole degrees of freedom, by bisection of its closed form. `share` from 0.5 up to 1."""
    low, high = 0.0, 1.0
    while t_cumulative(high, degrees) < share:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cumulative(middle, degrees) < share else (low, middle)
    return (low + high) / 2


def t_cumulative(value: float, degrees: int) -> float:
    """P(T <= value) for value >= 0 (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan(value / math.sqrt(degrees))
    cosine, odd = math.cos(angle), degrees % 2
    term = total = cosine if odd else 1.0
    for step in range(3 if odd else 2, degrees - 1, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    if odd:
        within = 2 / math.pi * (angle + (math.sin(angle) * total if degrees > 1 else 0.0))
    else:
        within = math.sin(angle) * total
    return 0.5 + within / 2


def _kept(value: float | None, bound: float | None) -> bool:
    return bound is None or (value is not None and value <= bound)


def _binomial_cumulative(count: int, share: float) -> list[float]:
    """P(X <= k) for k from 0 to count - 1, X binomial; by logarithms, so that 10,000 requests do not underflow."""
    if share in (0.0, 1.0):
        return [1.0 - share] * count
    total, cumulative = 0.0, []
    log_odds, logs = math.log(share) - math.log1p(-share), count * math.log1p(-share)
    for k in range(count):
        total += math.exp(logs)
        cumulative.append(min(1.0, total))
        logs += math.log((count - k) / (k + 1)) + log_odds
    return cumulative
